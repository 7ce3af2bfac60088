import { chmod, copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { moveLedger } from '../../src/app/migrate/migrate.ts'
import type { SealedRecord } from '../../src/ledger/ledger-store.ts'
import { newSigningKey, pemOf } from '../../src/ledger/ledger-store.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { clusterOf, writeConfig } from '../cluster/own.ts'
import { memoryKeys } from '../ledger/memory-keys.ts'
import { memoryContent, memoryLedgerStore } from '../ledger/memory-store.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'

const LEDGER = '/audit/v1/ledger'
const RECORD: SealedRecord = { ledger: 'l', origin: 'o/l', size: 3, root: 'r', text: 't', sealedAt: 's' }
const EMBEDDED = { 'storage.type': 'embedded' }

type Status = { readonly state: string; readonly origin: string; readonly keys: readonly { readonly vkey: string }[] }
const statusOf = async (service: Started) => (await service.request<Status>('GET', LEDGER)).json
const seal = async (service: Started) =>
  (await service.request<{ size: number; text: string }>('POST', `${LEDGER}/checkpoint`)).json
const createFlag = (service: Started, key: string) =>
  service.request('POST', '/api/v1/namespaces/default/flags', { key, name: key, type: 'BOOLEAN_FLAG_TYPE' })

/** A stopped service with a ledger and one retained checkpoint. */
const stopped = async (t: Parameters<typeof startService>[0], settings = {}) => {
  const service = await startService(t, { ...EMBEDDED, ...settings })
  await createFlag(service, 'before')
  const [retained, status] = [await seal(service), await statusOf(service)]
  await createFlag(service, 'after')
  await service.close()
  const file = join(service.directory, 'retained')
  await writeFile(file, retained.text)
  return { service, retained, status, file, from: join(service.directory, 'data') }
}

/** Checks that a target continues the ledger of its source. */
const insistOnContinued = async (
  t: Parameters<typeof startService>[0],
  { retained, status, file }: Awaited<ReturnType<typeof stopped>>,
  target: Started,
) => {
  await eventually(async () => (await statusOf(target)).state === 'ok', 'the comparison with the sealed record')
  t.match(await statusOf(target), { origin: status.origin, keys: [{ vkey: status.keys[0]!.vkey }] })
  await createFlag(target, 'there')
  const env = { ROLLCALL_ADDRESS: target.url, ROLLCALL_TOKEN: target.token }
  const vkey = status.keys[0]!.vkey
  const compared = await rollcall(['checkpoint', '--seal', '--compare', file, '--vkey', vkey], env)
  t.match(compared, { exit: 0, err: new RegExp(`first ${retained.size} events are unchanged`) })
  t.equal((await rollcall(['prove', '@0', '--size', String(retained.size)], env)).exit, 0, 'the checkpoint is kept')
}

const migrating = (from: string, to: string, ...more: readonly string[]) =>
  rollcall(['migrate', '--from', from, '--to', to, '--yes', ...more])

await t.test('a migration to a directory continues the ledger', async (t) => {
  const source = await stopped(t)
  const { from, service } = source
  const key = join(from, 'signing-key.pem')
  const moved = await newDirectory(t)
  const to = join(moved, 'data')
  const [there, sealed] = [join(to, 'signing-key.pem'), join(to, 'signing-key.pem.sealed')]
  const ran = await migrating(from, to)
  t.match(ran, {
    exit: 0,
    err: /continues the ledger .*, of which \d+ events are sealed\.\nRemove .*signing-key\.pem /,
  })
  t.equal(await readFile(there, 'utf8'), await readFile(key, 'utf8'))
  t.equal((await stat(there)).mode & 0o777, 0o600)

  // An interruption before the end leaves no key.
  await rm(there)
  await rm(sealed)
  t.equal((await migrating(from, to)).exit, 0)
  t.strictSame(JSON.parse(await readFile(sealed, 'utf8')), JSON.parse(await readFile(`${key}.sealed`, 'utf8')))

  const target = await startService(t, EMBEDDED, { directory: moved })
  await insistOnContinued(t, source, target)
  await target.close()
  t.match(await migrating(from, to), { exit: 6, err: /events of a different log/ }, 'a target that was started')

  await rm(key)
  const again = await startService(t, EMBEDDED, { directory: service.directory })
  await eventually(async () => (await statusOf(again)).state === 'suspended', 'the source without its key is suspended')
})

await t.test('a migration of a ledger needs the signing key, and refuses a target with another', async (t) => {
  const keys = await newDirectory(t)
  const file = join(keys, 'key.pem')
  const { from } = await stopped(t, { 'history.ledger.key_file': file })
  const to = join(await newDirectory(t), 'data')
  const key = ['--from-signing-key', file]
  t.match(await migrating(from, to), { exit: 4, err: /no signing key .*\nSet --from-signing-key/ })
  t.match(await migrating(from, to, '--dry-run', ...key), { exit: 0, err: /Would copy/ })
  await mkdir(to, { recursive: true })
  await writeFile(join(to, 'signing-key.pem'), pemOf(newSigningKey()), { mode: 0o600 })
  t.match(await migrating(from, to, ...key), { exit: 6, err: /another signing key/ })
  await rm(join(to, 'signing-key.pem'))
  await writeFile(join(to, 'signing-key.pem.sealed'), JSON.stringify(RECORD), { mode: 0o600 })
  t.match(await migrating(from, to, ...key), { exit: 6, err: /sealed record of the ledger o\/l/ })
  await rm(join(to, 'signing-key.pem.sealed'))
  await chmod(file, 0o644)
  t.match(await migrating(from, to, ...key), { exit: 1, err: /signing key file/ })
  await chmod(file, 0o600)
  t.match(await migrating(from, to, ...key), { exit: 0, err: /Remove .*key\.pem before/ })
})

await t.test('a migration to servers and back continues the ledger', async (t) => {
  const moved = await newDirectory(t)
  const settings = await clusterOf(moved).catch((error: Error) => error.message)
  if (typeof settings === 'string') {
    t.comment(settings)
    return
  }
  const config = join(moved, 'rollcall.yml')
  await writeConfig(config, settings)
  const back = await newDirectory(t)
  const data = join(back, 'data')
  const fromServers = (...more: readonly string[]) => migrating('cluster', data, '--config', config, ...more)
  t.match(await fromServers(), { exit: 4, err: /The log on the servers has no event/ })
  const source = await stopped(t)
  await mkdir(join(moved, 'data'))
  await copyFile(join(source.from, 'keys'), join(moved, 'data', 'keys'))
  t.match(await migrating(source.from, 'cluster', '--config', config), { exit: 0, err: /continues the ledger/ })
  const target = await startService(t, settings, { directory: moved })
  await insistOnContinued(t, source, target)
  const retained = await seal(target)
  const status = await statusOf(target)
  const file = join(moved, 'retained')
  await writeFile(file, retained.text)
  await target.close()

  t.match(await fromServers('--from-keys', 'k'), { exit: 2, err: /names the keys of servers/ })
  t.match(await migrating('cluster', 'cluster', '--config', config), { exit: 2, err: /only to a directory/ })
  t.match(await fromServers('--dry-run'), { exit: 0, err: /Would copy \d+ of \d+ events/ })
  const ran = await fromServers()
  t.match(ran, { exit: 0, err: /continues the ledger .*\nRemove the document signing-key .* before anybody/ })
  t.match(await fromServers(), { exit: 0, err: /Done: 0 events copied/ })
  t.equal((await stat(join(data, 'signing-key.pem'))).mode & 0o777, 0o600)
  const again = await startService(t, EMBEDDED, { directory: back })
  await insistOnContinued(t, { ...source, retained, status, file }, again)
})

await t.test('an interrupted move of a ledger is completed, and has no key before its sealed record', async (t) => {
  const key = newSigningKey()
  const from = { store: memoryLedgerStore(), keys: memoryKeys({ key, next: undefined }) }
  const kept = Array.from({ length: 260 }, (_, n) => ({ size: n + 1, root: 'r', text: 't', sealedAt: 's', keep: true }))
  for (const checkpoint of kept) await from.store.keep(checkpoint)
  const ledger = { origin: 'o/l', ports: from, key, record: RECORD }
  let isWhole = false
  for (let calls = 0; !isWhole; calls += calls < 240 ? 40 : 1) {
    const content = memoryContent()
    let left = calls
    const interrupt = (moment: string) => {
      if (moment.startsWith('before') && left-- <= 0) throw new Error('broken off')
    }
    const keys = memoryKeys({ key: undefined, next: undefined }, interrupt)
    const store = memoryLedgerStore(content, interrupt)
    isWhole = await moveLedger(ledger, { store, keys }).then(
      () => true,
      () => false,
    )
    left = Number.POSITIVE_INFINITY
    if ((await keys.read()) && !content.sealed) t.fail(`a key without a sealed record after ${calls} calls`)
    await moveLedger(ledger, { store, keys })
    const end = [content.sealed, content.kept.size, (await keys.read())?.equals(key), await keys.next()]
    t.strictSame(end, [RECORD, kept.length, true, undefined])
  }
})
