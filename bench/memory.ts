import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { type TokenIndex, tokenIndex } from '../src/projections/token-index.ts'
import type { Row } from './measure.ts'
import { progress, row } from './measure.ts'

const TOKENS = Number(process.env['ROLLCALL_BENCH_TOKENS'] ?? 1_000_000)

const filled = (): TokenIndex => {
  const index = tokenIndex(TOKENS)
  const shared = {
    method: 'token',
    createdAt: '',
    updatedAt: '',
    attributes: {},
    metadata: {},
    namespace: 'default',
  } as const
  for (let n = 0; n < TOKENS; n++) {
    const doc = {
      ...shared,
      id: randomUUID(),
      digest: `k1.${randomBytes(32).toString('base64url')}`,
      expiresAt: '2027-01-01T00:00:00.000Z',
    }
    index.remember({ key: doc.id, revision: 0n, position: BigInt(n), changes: 1n, doc })
  }
  return index
}

const used = () => {
  globalThis.gc!()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** In a process of its own with --expose-gc: bytes a token and the milliseconds of a forced full collection while all are held. */
const measure = () => {
  const before = used()
  const index = filled()
  const bytes = (used() - before) / index.size()
  const pauses = [1, 2, 3].map(() => {
    const start = performance.now()
    globalThis.gc!()
    return performance.now() - start
  })
  process.stdout.write(JSON.stringify({ bytes, pause: Math.min(...pauses), size: index.size() }))
}

/** B11: memory of the index of live tokens, and what a full garbage collection costs with it. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`B11: ${TOKENS} tokens in memory`)
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', import.meta.filename])
  const { bytes, pause } = JSON.parse(stdout) as { bytes: number; pause: number }
  return [
    row('B11', `memory of ${TOKENS} tokens in the index`, bytes, { atMost: 100 }, ' B a token'),
    row('B11', 'full garbage collection with them', pause, { atMost: 120 }, ' ms'),
  ]
}

if (process.argv[1] === import.meta.filename) measure()
