import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { recordOf, vectors } from '../ledger/vectors.ts'
import { VKEY } from './ledger-server.ts'
import { leavesOf, madeExport } from './made-export.ts'
import { rollcall } from './service.ts'

const built = resolve(import.meta.dirname, '../../rollcall-verify.mjs')
const room = resolve(import.meta.dirname, '../../../src/verifier')
const records = vectors.events.map((vector): Stored => ({ ...recordOf(vector), position: BigInt(vector.index + 1) }))

/** A folder with nothing but the file of the verifier, which runs there without an environment. */
const emptyFolder = (t: Test) => {
  const folder = t.testdir()
  const alone = join(folder, 'alone')
  mkdirSync(alone)
  copyFileSync(built, join(alone, 'rollcall-verify.mjs'))
  const run = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['rollcall-verify.mjs', ...args], {
      cwd: alone,
      env: {},
      encoding: 'utf8',
    })
    return { exit: status, out: stdout, err: stderr }
  }
  return { folder, run }
}

const changeByte = (path: string, at: number): void => {
  const bytes = readFileSync(path)
  bytes[at]! ^= 1
  writeFileSync(path, bytes)
}

await t.test('the file imports only modules of Node.js, and its room fits into 4,200 lines', (t) => {
  const imports = [...readFileSync(built, 'utf8').matchAll(/^import .* from "([^"]+)"|\bimport\(/gm)].map(
    ([, from]) => from,
  )
  t.ok(imports.length > 0)
  for (const from of imports) t.match(from, /^node:/)
  const files = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const lines = files.reduce((sum, name) => sum + readFileSync(join(room, name), 'utf8').split('\n').length - 1, 0)
  t.ok(lines <= 4_200, `${lines} lines`)
  t.end()
})

await t.test('verifies exports with the words and the exit codes of the verb', async (t) => {
  const { folder, run } = emptyFolder(t)
  const same = async (given: string, exit: number, ...args: readonly string[]) => {
    const [own, verb] = [run(...args), await rollcall(['events', 'verify', ...args])]
    t.strictSame(own, verb, given)
    t.equal(own.exit, exit, given)
  }
  for (const format of ['ndjson', 'csv', 'cloudevents', 'ocsf'] as const)
    for (const gzip of [false, true]) {
      const { out } = await madeExport(records, folder, { format, gzip })
      const name = `${format} ${gzip ? 'gzip' : ''}`
      await same(name, format === 'ocsf' ? 2 : 0, out, '--vkey', VKEY)
      changeByte(out, Math.floor(readFileSync(out).length / 2))
      await same(`${name} with another byte`, format === 'ocsf' ? 2 : 3, out, '--vkey', VKEY)
      await same(`${name} with another byte, as JSON`, format === 'ocsf' ? 2 : 3, out, '--vkey', VKEY, '-o', 'json')
    }
  const { out } = await madeExport(records, folder)
  const hashes = join(folder, 'hashes')
  writeFileSync(hashes, leavesOf(records).bytes().toString('base64url'))
  await same('a list of hashes that is none', 2, out, '--hashes', hashes)
  await same('without a key', 0, out)
  await same('a file that does not exist', 4, join(folder, 'missing.manifest.json'))
  const filtered = (filter: Readonly<Record<string, string>>) =>
    madeExport(records, folder, { selection: { filter, bounds: {}, personal: 'sealed' } })
  await filtered({ type: 'Token*,!TokenRevoked', from: '2000-01-01T00:00:00+02:00' })
  await same('a filter', 0, out, '--vkey', VKEY)
  const manifest = readFileSync(`${out}.manifest.json`, 'utf8')
  writeFileSync(`${out}.manifest.json`, manifest.replace('Token*', 'Flag*'))
  await same('another filter', 3, out, '--vkey', VKEY)
})

await t.test('reads no Parquet and does not check the filter q, and reports both', async (t) => {
  const { folder, run } = emptyFolder(t)
  const { out } = await madeExport(records, folder, { format: 'parquet' })
  t.match(run(out, '--vkey', VKEY), { exit: 2, err: /cannot read Parquet/ })
  await madeExport(records, folder, { selection: { filter: { q: 'token' }, bounds: {}, personal: 'sealed' } })
  t.match(run(out, '--vkey', VKEY), { exit: 0, err: 'The filter q was not checked' })
})

await t.test('verifies proofs with the words and the exit codes of the verb', async (t) => {
  const { folder, run } = emptyFolder(t)
  const path = join(folder, 'event.tlog-proof')
  const same = async (given: string, text: string, exit: number, ...args: readonly string[]) => {
    writeFileSync(path, text)
    const [own, verb] = [run(path, ...args), await rollcall(['verify-proof', path, ...args])]
    t.strictSame(own, verb, given)
    t.equal(own.exit, exit, given)
  }
  const { text } = vectors.tlogProof
  await same('a proof', text, 0, '--vkey', VKEY)
  await same('a proof as JSON', text, 0, '--vkey', VKEY, '-o', 'json')
  await same('a proof without metadata', vectors.tlogProofWithheldMeta.text, 0, '--vkey', VKEY)
  await same('a proof of another event', text.replace(/\nindex \d+/, '\nindex 0'), 3, '--vkey', VKEY)
  await same('half a proof', text.slice(0, text.length / 2), 2, '--vkey', VKEY)
})

await t.test('checks the exports, proofs and checkpoints of a directory, each with its result', async (t) => {
  const { folder, run } = emptyFolder(t)
  const given = join(folder, 'given')
  mkdirSync(given)
  t.match(run(given), { exit: 4, err: /no export, no proof and no checkpoint/ })
  const { out } = await madeExport(records, given)
  writeFileSync(join(given, 'event.tlog-proof'), vectors.tlogProof.text)
  writeFileSync(join(given, 'checkpoint-11'), vectors.checkpoint)
  t.match(run(given, '--vkey', VKEY), {
    exit: 0,
    out: /checkpoint of .*, size 11[\s\S]*FIELD[\s\S]*verified 11 events/,
  })
  writeFileSync(join(given, 'checkpoint-11'), vectors.checkpoint.replace('\n11\n', '\n12\n'))
  changeByte(out, 300)
  t.match(run(given, '--vkey', VKEY), { exit: 3, err: /checkpoint-11 has a wrong signature[\s\S]*Not verified/ })
  t.match(run(given), { exit: 3, err: /checkpoint-11 needs the key of its ledger/ })
  t.match(run(), { exit: 2, err: /Usage:/ })
  t.match(run('--unknown'), { exit: 2, err: /Unknown option/ })
  t.match(run(out, '-o', 'csv'), { exit: 2, err: 'text or json' })
  t.match(run('--help'), { exit: 0, out: /^Usage: / })
})
