import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { evolve } from '../../src/commands/decider.ts'
import type { FlagChange } from '../../src/commands/flag/flag.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { segment } from '../../src/commands/segment.ts'
import type { FlagEvent } from '../../src/events/flag.ts'
import { refusalOf } from '../given.ts'
import { memoryLog } from '../memory-log.ts'
import { flagCreated, ofFlag, ofSegment, segmentCreated } from '../samples.ts'
import { turnsOf } from '../turns.ts'
import { flagChanges, segmentChanges } from './asks.ts'
import { begin, context, flagAsk, instance, segmentAsk } from './world.ts'

const reservations = ['s', 'q', 'z'].map((segment) => ({ segment, reservation: `reservation-${segment}` }))

await t.test('a command decided in steps gives the same events or refusal as one decided at once', async (t) => {
  const theFlag = evolve(flag, flag.initial, flagCreated as FlagEvent)
  const theSegment = evolve(segment, segment.initial, segmentCreated as never)
  let refused = 0
  const same = (whole: () => readonly object[], steps: () => Iterable<{ readonly events: readonly object[] }>) => {
    let [one, other]: (readonly object[])[] = [[], []]
    const refusals = [
      refusalOf(() => (one = whole())),
      refusalOf(() => (other = Array.from(steps(), ({ events }) => events).flat())),
    ] as const
    if (refusals[0]) refused++
    assert.deepEqual(refusals[1]?.message, refusals[0]?.message)
    assert.deepEqual(other, one)
  }
  fc.assert(
    fc.property(flagChanges, segmentChanges, fc.boolean(), (changes, others, lives) => {
      const ofFlags = { ...ofFlag, changes, reservations }
      const met = lives ? theFlag : flag.initial
      same(
        () => flag.decide.ChangeFlag(met, ofFlags),
        () => flag.steps!.ChangeFlag!(met, ofFlags),
      )
      const ofSegments = { ...ofSegment, changes: others }
      const held = lives ? theSegment : segment.initial
      same(
        () => segment.decide.ChangeSegment(held, ofSegments),
        () => segment.steps!.ChangeSegment!(held, ofSegments),
      )
    }),
    { numRuns: 300, seed: 1 },
  )
  t.ok(refused > 100 && refused < 600, `${refused} of them refused`)
})

await t.test('a batch lets other work run between its changes, also if it is refused', async (t) => {
  const log = memoryLog()
  await begin(log)
  const { reservations } = instance(log)
  await reservations.createSegment(segmentAsk('new'), context)
  await reservations.createFlag(flagAsk('many'), context)
  const many = { ...ofFlag, key: 'many' }
  const rollouts = (length: number, part: (n: number) => object) =>
    Array.from({ length }, (_, n) => ({ op: 'AddRollout', id: `o${n}`, description: '', part: part(n) }) as FlagChange)
  const threshold = { type: 'threshold', percentage: 1, value: true }
  const bySegment = { type: 'segment', segments: ['new'], operator: 'or', value: true }

  const turnsFor = (changes: readonly FlagChange[]) =>
    turnsOf(() => reservations.changeFlag({ ...many, changes }, context))
  const decided = await turnsFor(rollouts(50, () => threshold))
  t.ok(decided >= 100, `${decided} turns: the changes are decided, then the state is made`)
  const updates = Array.from(
    { length: 50 },
    (_, n): FlagChange => ({ op: 'UpdateRollout', id: `o${n}`, description: 'y' }),
  )
  const refused = await turnsFor([...updates, { op: 'UpdateRollout', id: 'unknown', description: 'y' }])
  t.ok(refused >= 50, `${refused} turns of what is refused at its end`)
  const reserving = await turnsFor(rollouts(50, () => bySegment).map((change, n) => ({ ...change, id: `p${n}` })))
  t.ok(reserving >= 150, `${reserving} turns: which segments are needed is decided first`)
})
