import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import type { LedgerCheckpoint, LedgerConsistency, LedgerStatus } from '../../src/contract/history/ledger.ts'
import type { Hash } from '../../src/verifier/hashes.ts'
import { hashOfBase64 } from '../../src/verifier/hashes.ts'
import { type VerifiedCheckpoint, verifyCheckpoint } from '../../src/verifier/note/signatures.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { verifyConsistency } from '../../src/verifier/proof/proofs.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { draws } from '../draws.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { canTrace, leaveOut, NO_STRACE, rounds, startChild } from './rig.ts'

const main = resolve(import.meta.dirname, '../../src/main.js')
const LEDGER = '/audit/v1/ledger'
/** The bootstrap token of the services of the tests. */
const TOKEN = 'the-bootstrap-token-of-the-tests'
const settings = { 'storage.type': 'embedded' }

/** System calls that change the files of the ledger. */
const CALLS = 'openat,write,pwrite64,fsync,fdatasync,ftruncate,rename,unlink'
const FILES = [
  'ledger.sqlite',
  'ledger.sqlite-wal',
  'ledger.sqlite-shm',
  'signing-key.pem',
  'signing-key.pem.new',
  'signing-key.pem.sealed',
  'signing-key.pem.sealed.new',
]
/** Last of these calls in a first start with two checkpoints. */
const MOST = 120

/** Starts `rollcall serve` that is killed at its n-th system call on the files of the ledger. */
const serveUntil = async (data: string, n: number) => {
  const paths = FILES.flatMap((file) => ['-P', join(data, file)])
  const kill = [
    '-f',
    '-qq',
    '-o',
    '/dev/null',
    ...paths,
    '-e',
    `trace=${CALLS}`,
    '-e',
    `inject=${CALLS}:signal=KILL:when=${n}`,
  ]
  const serve = [main, 'serve', '--data', data, '--host', '127.0.0.1', '--port', '0']
  const env = [
    `ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN=${TOKEN}`,
    'ROLLCALL_HISTORY_LEDGER_SEAL_EVENTS=1',
  ]
  const { lines, until, closed } = startChild([...env, 'strace', ...kill, process.execPath, ...serve], 'env')
  const url = () => lines.map((line) => /"url":"([^"]+)"/.exec(line)?.[1]).find((found) => found !== undefined)
  await until(() => url() !== undefined, 'the service to listen')
  return { url: url(), closed }
}

/** Appends events and requests checkpoints until the service ends. Returns each checkpoint that it served. */
const sealedUntilKilled = async (data: string, n: number): Promise<readonly string[]> => {
  const { url, closed } = await serveUntil(data, n)
  const texts: string[] = []
  const send = (method: string, path: string) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}` },
      ...(method === 'POST' && { body: '{"name":"n"}' }),
    })
  const use = async (): Promise<void> => {
    for (;;) {
      await send('POST', '/auth/v1/method/token')
      const answer = await send('GET', `${LEDGER}/checkpoint`)
      if (answer.status === 200) texts.push(await answer.text())
    }
  }
  if (url !== undefined) await use().catch(() => undefined)
  await closed
  return texts
}

/** The newest checkpoint of a service, whose log it has compared with the sealed record. */
const newestOf = async ({ request }: Started) => {
  await request('POST', '/auth/v1/method/token', { name: 'after' })
  const status = async () => (await request<LedgerStatus>('GET', LEDGER)).json
  await eventually(async () => (await status()).state !== 'building', 'the tree')
  const { text } = (await request<LedgerCheckpoint>('POST', `${LEDGER}/checkpoint`, {})).json
  const json = await status()
  const keys = json.keys.map(({ vkey }) => parseVkey(vkey)!)
  return { state: json.state, keys, newest: verifyCheckpoint(text ?? '', keys) }
}

const insistOnExtension = async (t: Test, service: Started, served: readonly string[], when: string): Promise<void> => {
  const { state, keys, newest } = await newestOf(service)
  t.equal(state, 'ok', when)
  if (typeof newest === 'string') return void t.fail(`${when}: ${newest}`)
  const lost: string[] = []
  for (const text of new Set(served)) {
    const before = verifyCheckpoint(text, keys)
    const isThere = typeof before !== 'string' && before.size <= newest.size
    if (!isThere || !(await isExtended(service, before, newest))) lost.push(text)
  }
  t.strictSame(lost, [], `${when}: the log extends each of ${served.length} served checkpoints`)
}

const isExtended = async ({ request }: Started, from: VerifiedCheckpoint, to: VerifiedCheckpoint): Promise<boolean> => {
  if (from.size === to.size) return verifyConsistency(from, to, [])
  const { json } = await request<LedgerConsistency>('GET', `${LEDGER}/consistency?from=${from.size}&to=${to.size}`)
  return verifyConsistency(from, to, json.hashes.map(hashOfBase64) as Hash[])
}

/** The sealed record next to the key, which a kill must leave whole or absent. */
const recordIn = async (data: string): Promise<unknown> => {
  const file = join(data, 'signing-key.pem.sealed')
  return existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : undefined
}

await t.test(
  'a kill at any system call on its files leaves a ledger that extends each served checkpoint',
  async (t) => {
    if (!(await canTrace())) return leaveOut(t, NO_STRACE)
    const draw = draws(t)
    const all = Number(process.env['ROLLCALL_CRASH_ROUNDS'] ?? 0) >= MOST
    for (let round = 1; round <= rounds(5); round++) {
      const directory = await newDirectory(t)
      const data = join(directory, 'data')
      await mkdir(data)
      const n = all ? round : draw(1, MOST)
      const first = await sealedUntilKilled(data, n)
      await recordIn(data)
      // The second kill meets a ledger that has begun.
      const second = await sealedUntilKilled(data, draw(1, MOST))
      const record = await recordIn(data)
      const service = await startService(t, settings, { directory })
      await insistOnExtension(t, service, [...first, ...second], `killed at its call ${n}`)
      t.ok(record === undefined || typeof record === 'object', 'the sealed record is whole')
      await service.close()
    }
  },
)
