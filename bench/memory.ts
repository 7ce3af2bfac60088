import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import type { Holding } from '../src/access/grants.ts'
import { meaningsOf } from '../src/access/grants.ts'
import { reachOf, reachText } from '../src/access/reach.ts'
import { BUILT_IN } from '../src/access/roles.ts'
import { type TokenIndex, tokenIndex } from '../src/projections/token-memory/token-index.ts'
import type { Row } from './measure.ts'
import { progress, row } from './measure.ts'

const REACHES = [1000, 20_000]
const TOKENS = Number(process.env['ROLLCALL_BENCH_TOKENS'] ?? 1_000_000)

const holdingOf = (n: number): Holding => ({
  grants: [
    { place: `namespace-${n}`, role: 'editor' },
    { place: `namespace-${n + 1}`, role: 'viewer' },
    { place: '*', role: 'client' },
  ],
  roles: meaningsOf(BUILT_IN),
})

/** Tokens that are bound to one namespace, or each of so many that differ in what they may do. */
const filled = (reaches: number): TokenIndex => {
  const index = tokenIndex(TOKENS)
  const shared = { method: 'token', createdAt: '', updatedAt: '', attributes: {}, metadata: {} } as const
  const texts = Array.from({ length: reaches }, (_, n) => reachText(reachOf(holdingOf(n))))
  for (let n = 0; n < TOKENS; n++) {
    const doc = {
      ...shared,
      ...(reaches === 0 ? { namespace: 'default' } : { reach: texts[n % reaches]! }),
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
const measure = (reaches: number) => {
  const before = used()
  const index = filled(reaches)
  const bytes = (used() - before) / index.size()
  const pauses = [1, 2, 3].map(() => {
    const start = performance.now()
    globalThis.gc!()
    return performance.now() - start
  })
  process.stdout.write(JSON.stringify({ bytes, pause: Math.min(...pauses), size: index.size() }))
}

const measuredBy = async (reaches: number) => {
  progress(`B11: ${TOKENS} tokens in memory, ${reaches === 0 ? 'alike' : `${reaches} reaches`}`)
  const args = ['--expose-gc', import.meta.filename, String(reaches)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as { readonly bytes: number; readonly pause: number }
}

/** B11: memory of the index of live tokens, and what a full garbage collection costs with it; alike, and with grants that differ. */
export const run = async (): Promise<readonly Row[]> => {
  const { bytes, pause } = await measuredBy(0)
  const rows = [
    row('B11', `memory of ${TOKENS} tokens in the index`, bytes, { atMost: 100 }, ' B a token'),
    row('B11', 'full garbage collection with them', pause, { atMost: 120 }, ' ms'),
  ]
  for (const reaches of REACHES) {
    const { bytes: granted, pause: collecting } = await measuredBy(reaches)
    rows.push(row('B11', `memory with ${reaches} different reaches`, granted, { atMost: 120 }, ' B a token'))
    rows.push(row('B11', 'full garbage collection with them', collecting, { atMost: 120 }, ' ms'))
  }
  return rows
}

if (process.argv[1] === import.meta.filename) measure(Number(process.argv[2]))
