import t from 'tap'
import type { SegmentEvent } from '../../src/events/segment.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { flagStore } from '../../src/projections/flag-memory/flag-store.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { segments } from '../../src/projections/resource-model.ts'
import type { Row } from '../../src/projections/views.ts'
import { lagging, memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import { virtualClock } from '../virtual-clock.ts'
import { told } from './stored.ts'

const STREAM = 'segment-ns+s'
const of = { namespace: 'ns', key: 's', incarnation: 'life' }
const created: SegmentEvent = {
  type: 'SegmentCreated',
  data: { ...of, generation: 1, name: 's', description: '', matchType: 'all' },
}
const attached = (n: number): SegmentEvent => ({
  type: 'SegmentAttached',
  data: { ...of, flag: 'f', reservation: `r${n}`, reservedAt: '2026-01-01T00:00:00.000Z' },
})
const updated = (name: string): SegmentEvent => ({
  type: 'SegmentUpdated',
  data: { ...of, name: { from: 's', to: name } },
})

const setup = async (onError: (error: unknown) => void) => {
  const { log, reads } = lagging(memoryLog())
  const puts: string[] = []
  const { views, rowsOf } = memoryViews(({ name, rows }) => {
    if (name === 'put') for (const { key, revision } of rows) puts.push(`${key} ${revision}`)
  })
  const rows = rowsOf(segments)
  const begin = async () => {
    const clock = virtualClock()
    const held = flagStore(() => undefined)
    const projection = anyProjection(segments)
    const running = runner({
      clock,
      log,
      views,
      projections: [projection],
      remember: ({ name }, row) => held.set(name, row),
      recall:
        ({ name }) =>
        (key) =>
          held.row(name, key),
      onError,
    })
    await running.start()
    return { ...running, clock, row: () => held.row('segments', 'ns+s') as Row<{ readonly name: string }> | undefined }
  }
  let next = 0
  const append = async (...events: readonly SegmentEvent[]) => {
    const written = told(STREAM, events, next)
    const { positions } = await log.append(STREAM, written, next === 0 ? 'none' : BigInt(next - 1))
    next += events.length
    return written.map((event, n) => ({ ...event, position: positions[n]! }))
  }
  return { log, reads, rows, puts, begin, append }
}

await t.test('an event that clients cannot see writes no row, and the next visible event does', async (t) => {
  const { log, puts, rows, reads, begin, append } = await setup((error) => t.fail(String(error)))
  const ours = await begin()
  for (const event of [created, attached(1), attached(2)]) await ours.applied(await append(event))
  t.strictSame(puts, ['ns+s 0'])
  t.equal(ours.row()?.revision, 2n, 'memory knows the newest revision')
  await ours.applied(await append(updated('t'), attached(3)))
  t.strictSame(puts, ['ns+s 0', 'ns+s 4'])
  t.equal(reads(), 0, 'what came between is known')
  const head = await log.head()
  await ours.clock.advance(200)
  t.equal(ours.viewPosition(), head)
  t.strictSame([puts.length, rows.get('ns+s')?.changes], [2, 2n])
  await ours.close()
})

await t.test('an instance whose row lacks events of its stream reads them once', async (t) => {
  const { reads, begin, append } = await setup((error) => t.fail(String(error)))
  const first = await begin()
  for (const event of [created, attached(1), attached(2)]) await first.applied(await append(event))
  await first.clock.advance(200)
  t.ok(first.viewPosition() > 0n)
  await first.close()
  const ours = await begin()
  for (const name of ['t', 'u']) await ours.applied(await append(updated(name)))
  t.equal(ours.row()?.doc?.name, 'u')
  t.ok(reads() <= 1, `${reads()} reads`)
  await ours.close()
})

await t.test('events of other instances are written, whatever other events lie between them', async (t) => {
  const { log, puts, rows, begin, append } = await setup((error) => t.fail(String(error)))
  const ours = await begin()
  const settled = async () => {
    await ours.clock.advance(100)
    return ours.viewPosition() === (await log.head())
  }
  await append(created)
  t.ok(await settled())
  await append(attached(1))
  t.ok(await settled())
  t.strictSame(puts, ['ns+s 0'])
  await append(updated('t'))
  t.ok(await settled())
  t.strictSame(puts, ['ns+s 0', 'ns+s 2'])
  t.match(rows.get('ns+s')?.doc, { name: 't' })
  await ours.close()
})
