import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import type { Checkpoint, Row } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import { virtualClock } from '../virtual-clock.ts'

const projection = anyProjection(tokens)
const time = '2026-01-01T00:00:00.000Z'
const issued = (id: string) => ({
  id: `event ${id}`,
  type: 'TokenIssued',
  time,
  data: JSON.stringify({ id, digest: id, method: 'token', issuedAt: time, attributes: {}, metadata: {} }),
  meta: '{}',
})
/** Appends like an instance and returns the events to apply. */
const append = async (log: EventLog, id: string): Promise<readonly Stored[]> => {
  const { positions } = await log.append(`token-${id}`, [issued(id)], 'none')
  return [{ ...issued(id), stream: `token-${id}`, revision: 0n, position: positions[0]! }]
}

/** Instance that writes views of tokens, which others can change too; `looks` counts reads of their checkpoint. */
const start = async (log: EventLog, agrees = async () => true) => {
  const [errors, lost, memory] = [[] as unknown[], [] as unknown[], new Map<string, Row>()]
  let looks = 0
  const { views, rowsOf, checkpoints } = memoryViews(({ name }) => name === 'checkpoint' && looks++)
  const clock = virtualClock()
  const run = runner({
    clock,
    log,
    views,
    projections: [projection],
    remember: (_, row) => void memory.set(row.key, row),
    onError: (error) => errors.push(error),
    onLost: (error) => lost.push(error),
    has: async ({ position, event }) => position === 0n || (await log.at(position))?.id === event,
    agrees,
  })
  await run.start()
  const checkpoint = () => checkpoints.get(tokens.name)
  const move = (to: Partial<Checkpoint>) => void checkpoints.set(tokens.name, { ...checkpoint()!, ...to })
  const lose = () => {
    rowsOf(tokens).clear()
    checkpoints.delete(tokens.name)
  }
  return { ...run, clock, rows: rowsOf(tokens), checkpoint, move, lose, looks: () => looks, errors, lost, memory }
}
/** Time in ms after which the checkpoint follows an event. */
const MARKED_MS = 250

await t.test('an instance that writes read models records its progress also without events', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await append(log, 'a')
  await ours.clock.advance(MARKED_MS - 1)
  t.equal(ours.checkpoint()?.events, 0)
  await ours.clock.advance(1)
  t.equal(ours.checkpoint()?.events, 1)
  await ours.close()
})

await t.test('lost read models are reported once and not overwritten', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await append(log, 'a')
  await ours.clock.advance(MARKED_MS)
  t.equal(ours.checkpoint()?.events, 1)
  ours.lose()
  await append(log, 'b')
  await ours.clock.advance(MARKED_MS)
  t.equal(ours.lost.length, 1)
  await ours.applied(await append(log, 'c'))
  await ours.clock.advance(60_000)
  t.match(ours.lost, [/the read model tokens does not exist/])
  t.equal(ours.lost.length, 1)
  t.strictSame([ours.checkpoint(), ours.rows.has('c'), ours.errors], [undefined, false, []])
  await ours.close()
  t.equal(ours.checkpoint(), undefined)
})

await t.test('lost read models are noticed within two seconds, also without an event', async (t) => {
  const ours = await start(memoryLog())
  await ours.clock.settle()
  const before = ours.looks()
  await ours.clock.advance(1_999)
  t.equal(ours.looks(), before)
  await ours.clock.advance(1)
  t.equal(ours.looks(), before + 1)
  ours.lose()
  await ours.clock.advance(1_999)
  t.strictSame(ours.lost, [])
  await ours.clock.advance(1)
  t.match(ours.lost, [/the read model tokens does not exist/])
  await ours.close()
})

for (const [what, position, event, told, totals] of [
  [
    'rows are missing',
    10n,
    'event a',
    /rows of the read model tokens are missing or older than its checkpoint/,
    { rows: 5, changes: 5 },
  ],
  [
    'a row is older than the checkpoint',
    10n,
    'event a',
    /rows of the read model tokens are missing or older/,
    { rows: 2, changes: 5 },
  ],
  [
    'the log has another event there',
    35n,
    'gone',
    /tokens has processed the log up to position 35, but the log contains a different event at this position/,
    { rows: 5, changes: 5 },
  ],
] as const)
  await t.test(`if another instance moved the checkpoint, and ${what}, the read models are lost`, async (t) => {
    const log = memoryLog()
    const ours = await start(log)
    await append(log, 'a')
    await append(log, 'b')
    await ours.clock.advance(MARKED_MS + 100)
    t.equal(ours.checkpoint()?.events, 2)
    ours.move({ position, event, log: 'event a', events: 1, ...totals })
    await append(log, 'c')
    await ours.clock.advance(MARKED_MS + 249)
    t.strictSame(ours.lost, [])
    await ours.clock.advance(1)
    t.match(ours.lost, [told], 'when it begins anew, a quarter of a second after it found them elsewhere')
    t.equal(ours.checkpoint()?.position, position, 'nothing was written over it')
    await ours.close()
  })

await t.test('an instance continues from a checkpoint that another instance moved', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await append(log, 'a')
  await ours.clock.advance(MARKED_MS)
  t.equal(ours.checkpoint()?.events, 1)
  const [b] = await append(log, 'b')
  ours.move({ position: b!.position, event: b!.id, events: 2, rows: 1 })
  await append(log, 'c')
  await ours.clock.advance(2_000)
  t.equal(ours.checkpoint()?.events, 3)
  t.strictSame([ours.lost, ours.errors], [[], []])
  await ours.close()
})

await t.test('an event that this instance appended at a known position is checked and never skipped', async (t) => {
  const log = memoryLog()
  let agrees = true
  let asked = 0
  const ours = await start(log, async () => (asked++, agrees))
  await append(log, 'a')
  const followed = await append(log, 'b')
  t.ok(await ours.seen(await log.head(), 1000))
  await ours.applied(followed)
  t.equal(asked, 0, 'its own event, followed before it was applied')
  agrees = false
  const other = { ...issued('c'), stream: 'token-c', revision: 0n, position: 10n }
  await t.rejects(ours.applied([other]), new Refusal('backend_unavailable'))
  t.equal(asked, 1)
  t.notOk(ours.rows.has('c'))
  await ours.close()
})

await t.test('an appended event at a known position but with another id belongs to another log', async (t) => {
  const log = memoryLog()
  const ours = await start(log, async () => false)
  const [a] = await append(log, 'a')
  t.ok(await ours.seen(await log.head(), 1000))
  await t.rejects(ours.applied([{ ...a!, id: 'other', position: 20n }]), new Refusal('backend_unavailable'))
  await ours.close()
})
