import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { flagStore } from '../../src/projections/flag-store.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { segments } from '../../src/projections/segments.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import type { Checkpoint, Row, View, Views } from '../../src/projections/views.ts'
import type { SegmentEvent } from '../../src/events/segment.ts'
import { lagging, memoryLog } from '../memory-log.ts'
import { told } from './told.ts'

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
  const rows = new Map<string, Row>()
  const puts: string[] = []
  let checkpoint = START
  const views = {
    getMany: async (_: View, keys: readonly string[]) => keys.flatMap((key) => rows.get(key) ?? []),
    put: async (_: View, given: readonly Row[]) => {
      for (const row of given) {
        puts.push(`${row.key} ${row.revision}`)
        if ((rows.get(row.key)?.revision ?? -1n) < row.revision) rows.set(row.key, row)
      }
    },
    scan: async function* () {
      yield [...rows.values()]
    },
    checkpoint: async () => checkpoint,
    mark: async (_: View, from: bigint, to: Checkpoint) => {
      if (checkpoint.position !== from) return false
      checkpoint = to
      return true
    },
  } as unknown as Views
  const begin = async () => {
    const held = flagStore(() => undefined)
    const projection = anyProjection(segments)
    const running = runner({
      clock: systemClock,
      log,
      views,
      projections: [projection],
      remember: ({ name }, row) => held.set(name, row),
      recall: ({ name }, key) => held.row(name, key),
      onError,
      retryMs: 5,
      laterMs: 1,
    })
    await running.start()
    return { ...running, row: () => held.row('segments', 'ns+s') as Row<{ readonly name: string }> | undefined }
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

const eventually = async (holds: () => boolean) => {
  for (let n = 0; n < 400 && !holds(); n++) await new Promise((wake) => setTimeout(wake, 5))
  return holds()
}

await t.test('events that leave a document as it is do not write its row, and what follows them does', async (t) => {
  const { log, puts, rows, reads, begin, append } = await setup((error) => t.fail(String(error)))
  const ours = await begin()
  for (const event of [created, attached(1), attached(2)]) await ours.applied(await append(event))
  t.strictSame(puts, ['ns+s 0'])
  t.equal(ours.row()?.revision, 2n, 'memory knows the newest revision')
  await ours.applied(await append(updated('t'), attached(3)))
  t.strictSame(puts, ['ns+s 0', 'ns+s 4'])
  t.equal(reads(), 0, 'what came between is known')
  const head = await log.head()
  t.ok(await eventually(() => ours.viewPosition() === head))
  t.strictSame([puts.length, rows.get('ns+s')?.changes], [2, 2n])
  await ours.close()
})

await t.test(
  'an instance that starts with a row behind its stream reads what is between once, when it must',
  async (t) => {
    const { reads, begin, append } = await setup((error) => t.fail(String(error)))
    const first = await begin()
    for (const event of [created, attached(1), attached(2)]) await first.applied(await append(event))
    t.ok(await eventually(() => first.viewPosition() > 0n))
    await first.close()
    const ours = await begin()
    for (const name of ['t', 'u']) await ours.applied(await append(updated(name)))
    t.equal(ours.row()?.doc?.name, 'u')
    t.ok(reads() <= 1, `${reads()} reads`)
    await ours.close()
  },
)

await t.test('what others append is written by the net, whatever stands between', async (t) => {
  const { log, puts, rows, begin, append } = await setup((error) => t.fail(String(error)))
  const ours = await begin()
  const settled = async () => {
    const head = await log.head()
    return eventually(() => ours.viewPosition() === head)
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
