import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { Refusal } from '../../src/errors.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import type { Checkpoint, Row, Views } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'

const projection = anyProjection(tokens)
const time = '2026-01-01T00:00:00.000Z'
const issued = (id: string) => ({
  id: `event ${id}`,
  type: 'TokenIssued',
  time,
  data: JSON.stringify({ id, digest: id, method: 'token', issuedAt: time, attributes: {}, metadata: {} }),
  meta: '{}',
})
/** Appends as an instance does, and gives what it applies. */
const append = async (log: EventLog, id: string): Promise<readonly Stored[]> => {
  const { positions } = await log.append(`token-${id}`, [issued(id)], 'none')
  return [{ ...issued(id), stream: `token-${id}`, revision: 0n, position: positions[0]! }]
}

const memoryViews = () => {
  const state = { rows: new Map<string, Row>(), checkpoint: undefined as Checkpoint | undefined, looks: 0 }
  const views = {
    getMany: async (_: unknown, keys: readonly string[]) => keys.flatMap((key) => state.rows.get(key) ?? []),
    put: async (_: unknown, given: readonly Row[]) => {
      for (const row of given) state.rows.set(row.key, row)
    },
    scan: async function* () {
      yield [...state.rows.values()]
    },
    totals: async () => ({
      rows: state.rows.size,
      changes: [...state.rows.values()].reduce((sum, { changes }) => sum + Number(changes), 0),
    }),
    checkpoint: async () => (state.looks++, state.checkpoint),
    mark: async (_: unknown, from: bigint | undefined, to: Checkpoint) => {
      if (state.checkpoint?.position !== from) return false
      state.checkpoint = to
      return true
    },
  } as unknown as Views
  return { state, views }
}

const start = async (log: EventLog, agrees = async () => true) => {
  const { state, views } = memoryViews()
  const [errors, lost, memory] = [[] as unknown[], [] as unknown[], new Map<string, Row>()]
  const run = runner({
    clock: systemClock,
    log,
    views,
    projections: [projection],
    remember: (_, row) => void memory.set(row.key, row),
    onError: (error) => errors.push(error),
    onLost: (error) => lost.push(error),
    has: async ({ position, event }) => position === 0n || (await log.at(position))?.id === event,
    agrees,
    retryMs: 5,
    laterMs: 1,
  })
  await run.start()
  return { ...run, state, errors, lost, memory }
}
const eventually = async (holds: () => boolean) => {
  for (let n = 0; n < 1000 && !holds(); n++) await new Promise((wake) => setTimeout(wake, 5))
  return holds()
}

await t.test('a writer that has nothing to do marks what it has done', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await append(log, 'a')
  t.ok(await eventually(() => ours.state.checkpoint?.events === 1))
  await ours.close()
})

await t.test('views that are gone are told once, and nothing is written over them', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await append(log, 'a')
  t.ok(await eventually(() => ours.state.checkpoint?.events === 1))
  ours.state.rows.clear()
  ours.state.checkpoint = undefined
  await append(log, 'b')
  t.ok(await eventually(() => ours.lost.length > 0))
  await ours.applied(await append(log, 'c'))
  await new Promise((wake) => setTimeout(wake, 100))
  t.match(ours.lost, [/the read model tokens is not there/])
  t.strictSame([ours.state.checkpoint, ours.state.rows.has('c'), ours.errors], [undefined, false, []])
  await ours.close()
  t.equal(ours.state.checkpoint, undefined)
})

await t.test('views that are gone are found without an event', async (t) => {
  const ours = await start(memoryLog())
  t.ok(await eventually(() => ours.state.looks > 1))
  ours.state.checkpoint = undefined
  t.ok(await eventually(() => ours.lost.length === 1))
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
    /tokens stands at 35, where the log has another event/,
    { rows: 5, changes: 5 },
  ],
] as const)
  await t.test(`another writer moved the views, and ${what}: they are lost`, async (t) => {
    const log = memoryLog()
    const ours = await start(log)
    await append(log, 'a')
    await append(log, 'b')
    t.ok(await eventually(() => ours.state.checkpoint?.events === 2))
    ours.state.checkpoint = { position, event, log: 'event a', events: 1, ...totals }
    await append(log, 'c')
    t.ok(await eventually(() => ours.lost.length > 0))
    t.match(ours.lost, [told])
    t.equal(ours.state.checkpoint.position, position, 'nothing was written over it')
    await ours.close()
  })

await t.test('a checkpoint that another writer moved is no loss: it is gone on with from there', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await append(log, 'a')
  t.ok(await eventually(() => ours.state.checkpoint?.events === 1))
  const [b] = await append(log, 'b')
  ours.state.checkpoint = { ...ours.state.checkpoint!, position: b!.position, event: b!.id, events: 2 }
  await append(log, 'c')
  t.ok(await eventually(() => ours.state.checkpoint?.events === 3))
  t.strictSame([ours.lost, ours.errors], [[], []])
  await ours.close()
})

await t.test(
  'an own event at or below what was followed, and not followed, is asked about and never skipped',
  async (t) => {
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
    t.notOk(ours.state.rows.has('c'))
    await ours.close()
  },
)

await t.test('an own event that memory claims to know, from another place, is of another log', async (t) => {
  const log = memoryLog()
  const ours = await start(log, async () => false)
  const [a] = await append(log, 'a')
  t.ok(await ours.seen(await log.head(), 1000))
  await t.rejects(ours.applied([{ ...a!, id: 'other', position: 20n }]), new Refusal('backend_unavailable'))
  await ours.close()
})
