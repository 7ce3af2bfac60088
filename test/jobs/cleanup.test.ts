import t from 'tap'
import { refuse } from '../../src/base/errors.ts'
import type { Execute } from '../../src/commands/execute.ts'
import { cleanup } from '../../src/jobs/cleanup.ts'
import type { Progress } from '../../src/jobs/queue.ts'
import type { Query, Row, Views } from '../../src/projections/views.ts'

const expired = (count: number): readonly Row[] =>
  Array.from({ length: count }, (_, n) => {
    const key = String(n).padStart(6, '0')
    return { key, revision: 0n, position: 0n, changes: 1n, doc: { id: key, expiresAt: `2026-01-01T00:00:00.${key}Z` } }
  })

/** Runs a cleanup over a number of expired records, and aborts it after a number of commands. */
const run = async (
  count: number,
  until = Number.POSITIVE_INFINITY,
  steady = true,
  complete = async (): Promise<unknown> => undefined,
  now = () => new Date('2026-01-02T00:00:00.000Z'),
  befores = new Set<string>(),
) => {
  const [told, ended, stop]: [Progress[], string[], AbortController] = [[], [], new AbortController()]
  const rows = expired(count)
  const list = async (_: unknown, { after, limit, count }: Query) => {
    if (count !== undefined) throw new Error('asked to count')
    const left = rows.filter(({ key }) => !ended.includes(key))
    return { rows: left.filter(({ key }) => key > (after?.key ?? '')).slice(0, limit), total: 0 }
  }
  const execute = async (_: unknown, id: string, __: unknown, { before }: { before: string }) => {
    befores.add(before)
    ended.push(id)
    if (ended.length >= until) stop.abort()
    return { stored: [{}] }
  }
  const { run } = cleanup({
    method: 'token',
    interval: 1000,
    gracePeriod: 0,
    execute: execute as unknown as Execute,
    applied: async () => undefined,
    views: { list } as unknown as Views,
    complete,
    now,
    steady: () => steady,
    onJump: () => told.push({ done: -1 }),
    onDeleted: () => undefined,
  })
  await run(stop.signal, (progress) => told.push(progress))
  return { told, ended: ended.length }
}

await t.test('the cleanup reports its progress after every batch, without a total', async (t) => {
  t.same(await run(1200), { told: [{ done: 500 }, { done: 1000 }, { done: 1200 }], ended: 1200 })
  t.same(await run(0), { told: [{ done: 0 }], ended: 0 })
})

await t.test('an aborted cleanup reports only the records that it completed', async (t) => {
  t.same(await run(1200, 510), { told: [{ done: 500 }, { done: 510 }], ended: 510 })
})

await t.test('a cleanup after a jump of the clock deletes nothing and reports the jump', async (t) => {
  t.same(await run(10, Number.POSITIVE_INFINITY, false), { told: [{ done: -1 }], ended: 0 })
})

await t.test('a cleanup fails and deletes nothing if the read models are incomplete', async (t) => {
  const behind = async () => refuse('view_behind', 'view is behind position 7')
  await t.rejects(run(10, Number.POSITIVE_INFINITY, true, behind), { message: 'view is behind position 7' })
})

await t.test('a jump of the clock while the cleanup waits for the read models does not affect it', async (t) => {
  let present = '2026-01-02T00:00:00.000Z'
  const jumping = async () => void (present = '2099-01-01T00:00:00.000Z')
  const befores = new Set<string>()
  await run(10, Number.POSITIVE_INFINITY, true, jumping, () => new Date(present), befores)
  t.same([...befores], ['2026-01-02T00:00:00.000Z'])
})
