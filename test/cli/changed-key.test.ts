import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { HistoryEvents } from '../../src/contract/history/events.ts'
import type { LedgerStatus } from '../../src/contract/history/ledger.ts'
import { hashOfBase64 } from '../../src/verifier/hashes.ts'
import { checkpointBody, parseCheckpoint } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../../src/verifier/note/signatures.ts'
import { startService } from '../start.ts'
import { signerWith } from './ledger-server.ts'
import { rollcall } from './service.ts'

await t.test('commands follow changes of the signing key, but not from a compromised one', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const { directory } = service
  const [data, file] = [join(directory, 'data'), (name: string) => join(directory, name)]
  const privateKey = () => createPrivateKey(readFileSync(join(data, 'signing-key.pem')))
  const run = (...args: readonly string[]) =>
    rollcall(args, { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token })
  const present = async () => {
    await service.request('POST', '/auth/v1/method/token', { name: 'n' })
    const saved = await run('checkpoint', '--seal')
    t.equal(saved.exit, 0, saved.err)
    return parseCheckpoint(saved.out)!
  }
  const vkeys = async () =>
    (await service.request<LedgerStatus>('GET', '/audit/v1/ledger')).json.keys.map(({ vkey }) => vkey)
  const changed = async (...options: readonly string[]) => {
    const rotate = ['ledger', 'rotate-key', '--data', data, '--yes', ...options]
    await service.reopen(async () => void t.match(await rollcall(rotate), { exit: 0 }))
  }
  const compare = (name: string, ...more: readonly string[]) =>
    run('checkpoint', '--compare', file(name), '-q', ...more)

  await run('checkpoint', '--seal', '--save', file('first'))
  await run('prove', '@0', '-o', file('proof'))
  await changed()
  const { origin } = await present()
  const [one, two] = (await vkeys()) as [string, string]
  for (const trusted of [[], ['--vkey', two], ['--vkey', one]])
    t.match(await compare('first', ...trusted), { exit: 0, err: '' }, `one change, ${trusted.length} keys`)
  writeFileSync(file('keys'), `${two}\n${one}\n`)
  t.match(await rollcall(['verify-proof', file('proof'), '--vkey', two]), { exit: 3, err: /further --vkey/ })
  t.match(await rollcall(['verify-proof', file('proof'), '--vkey', two, '--vkey', one]), { exit: 0 })
  t.match(await rollcall(['verify-proof', file('proof'), '--vkey', file('keys')]), { exit: 0 })
  const { events } = (await service.request<HistoryEvents>('GET', '/audit/v1/events?type=SigningKeyChanged')).json
  const { index } = events[0]!
  await run('prove', `@${index}`, '--size', String(index + 1), '-o', file('change'))
  const proven = await rollcall(['verify-proof', file('change'), '--vkey', one, '--field', 'data'])
  t.match(proven, { exit: 0 })
  t.match(JSON.parse(proven.out), { from: one, to: two }, 'the proof of the change leads to the new key')

  const before = privateKey()
  await run('checkpoint', '--seal', '--save', file('second'))
  await changed('--compromised')
  const newest = await present()
  const three = (await vkeys()).at(-1)!
  for (const name of ['first', 'second'])
    for (const trusted of [[], ['--vkey', three]])
      t.match(await compare(name, ...trusted), { exit: 0, err: '' }, `${name}, ${trusted.length} keys`)
  for (const key of [one, two])
    t.match(await compare('first', '--vkey', key), { exit: 3, out: '', err: /get the key another way/ })
  const signed = (signer: ReturnType<typeof signerWith>) => signNote(checkpointBody(newest), [signer])
  writeFileSync(file('forged'), signed(signerOf(origin, before)))
  t.match(await compare('forged'), { exit: 3, err: /signed only with a compromised key/ })
  writeFileSync(file('unknown'), signed(signerWith(9, origin)))
  t.match(await compare('unknown'), { exit: 3, err: /No change of the signing key in the log leads/ })
  const root = hashOfBase64(`${'A'.repeat(43)}=`)!
  const text = readFileSync(file('first'), 'utf8')
  writeFileSync(
    file('other'),
    signNote(checkpointBody({ ...parseCheckpoint(text)!, root }), [signerOf(origin, before)]),
  )
  t.match(await compare('other'), { exit: 3, err: /does not extend/ }, 'an earlier key does not replace the comparison')
})
