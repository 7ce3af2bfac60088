import t, { type Test } from 'tap'
import { type Reason, Refusal } from '../../src/base/errors.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { namespace } from '../../src/commands/namespace.ts'
import { segment } from '../../src/commands/segment.ts'
import { unwritten } from '../../src/commands/stream-folds.ts'
import type { Stored } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'
import { ofFlag, ofSegment } from '../samples.ts'
import { stateOf } from '../state-of.ts'
import { begin, changesAsk, complaints, context, flagAsk, instance, rolloutAsk, ruleAsk, segmentAsk } from './world.ts'

const started = async () => {
  const log = memoryLog()
  await begin(log)
  return { log, ...instance(log), before: log.all.length }
}
const types = (stored: readonly Stored[]) => stored.map(({ stream, type }) => `${stream}: ${type}`)
const refused = async (t: Test, work: Promise<unknown>, reason: Reason, message: string) => {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  t.ok(error instanceof Refusal, 'refused')
  t.strictSame(error instanceof Refusal && [error.reason, error.message], [reason, message])
}

await t.test('a flag is registered before its creation and unregistered after its deletion', async (t) => {
  const { log, reservations, before } = await started()
  const created = await reservations.createFlag(flagAsk('g'), context)
  t.strictSame(types(created.stored), ['namespace-ns: FlagRegistered', 'flag-ns+g: FlagCreated'])
  t.equal(created.revision, 1n)
  t.equal(created.state.reservation, [...(await stateOf(log, namespace, 'ns')).reservations].at(-1)![0])
  const deleted = await reservations.deleteFlag({ ...ofFlag, key: 'g' }, context)
  t.strictSame(types(deleted.stored), ['flag-ns+g: FlagDeleted', 'namespace-ns: FlagUnregistered'])
  t.strictSame(
    types(log.all.slice(before)),
    types([...created.stored, ...deleted.stored]),
    'stored is all that was written, in order',
  )
  t.strictSame(
    (await reservations.deleteFlag({ ...ofFlag, key: 'g' }, context)).stored,
    [],
    'a missing flag is left alone',
  )
})

await t.test('a refused command leaves no reservation', async (t) => {
  const { log, reservations } = await started()
  await refused(t, reservations.createFlag(flagAsk('f'), context), 'not_unique', 'flag "ns/f" is not unique')
  t.equal((await stateOf(log, namespace, 'ns')).reservations.size, 1)
  await refused(
    t,
    reservations.createFlag({ ...flagAsk('f'), namespace: 'no' }, context),
    'not_found',
    'namespace "no" not found',
  )
  await reservations.addRule({ ...ruleAsk('r1', 's'), rank: 1 }, context)
  await refused(
    t,
    reservations.addRule({ ...ruleAsk('r2', 's'), rank: 1 }, context),
    'rank_taken',
    'rank number: 1 already exists',
  )
  t.equal((await stateOf(log, segment, 'ns+s')).reservations.size, 1)
  t.strictSame(await complaints(log), [])
})

await t.test('a rule reserves its segments, changes reservations with an update, and releases them', async (t) => {
  const { log, reservations } = await started()
  const users = async () => [
    (await stateOf(log, segment, 'ns+s')).reservations.size,
    (await stateOf(log, segment, 'ns+q')).reservations.size,
  ]
  const added = await reservations.addRule({ ...ruleAsk('r1', 's', 's'), rank: 0 }, context)
  t.strictSame(types(added.stored), ['segment-ns+s: SegmentAttached', 'flag-ns+f: RuleAdded'])
  const changed = await reservations.updateRule(ruleAsk('r1', 'q'), context)
  t.strictSame(types(changed.stored), [
    'segment-ns+q: SegmentAttached',
    'flag-ns+f: RuleUpdated',
    'segment-ns+s: SegmentDetached',
  ])
  t.strictSame(
    (await reservations.updateRule(ruleAsk('r1', 'q'), context)).stored,
    [],
    'nothing changed, nothing written',
  )
  t.strictSame(await users(), [0, 1])
  const removed = await reservations.removeRule({ ...ofFlag, id: 'r1' }, context)
  t.strictSame(types(removed.stored), ['flag-ns+f: RuleRemoved', 'segment-ns+q: SegmentDetached'])
  t.strictSame(await users(), [0, 0])
  t.strictSame((await reservations.removeRule({ ...ofFlag, id: 'r1' }, context)).stored, [])
})

await t.test('a rollout by segment reserves its segments, and a rollout by threshold reserves none', async (t) => {
  const { reservations } = await started()
  const added = await reservations.addRollout({ ...rolloutAsk('o1', 's', 'q'), rank: 0 }, context)
  t.strictSame(types(added.stored), [
    'segment-ns+s: SegmentAttached',
    'segment-ns+q: SegmentAttached',
    'flag-ns+f: RolloutAdded',
  ])
  const changed = await reservations.updateRollout(rolloutAsk('o1', 'q'), context)
  t.strictSame(types(changed.stored), ['flag-ns+f: RolloutUpdated', 'segment-ns+s: SegmentDetached'])
  const removed = await reservations.removeRollout({ ...ofFlag, id: 'o1' }, context)
  t.strictSame(types(removed.stored), ['flag-ns+f: RolloutRemoved', 'segment-ns+q: SegmentDetached'])
  const part = { type: 'threshold', percentage: 50, value: true } as const
  const share = await reservations.addRollout({ ...ofFlag, id: 'o2', description: '', part, rank: 0 }, context)
  t.strictSame(types(share.stored), ['flag-ns+f: RolloutAdded'])
})

await t.test('a refused rule names the first missing segment and keeps no reservation', async (t) => {
  const { log, reservations } = await started()
  const either = 'flag "ns/f" or segment "ns/x" not found'
  const odd = 'flag "ns/f or segment x" not found'
  await refused(t, reservations.addRule({ ...ruleAsk('r1', 's', 'x', 'y'), rank: 0 }, context), 'not_found', either)
  await refused(t, reservations.addRollout({ ...rolloutAsk('o1', 's', 'x', 'y'), rank: 0 }, context), 'not_found', odd)
  await reservations.addRule({ ...ruleAsk('r1', 's'), rank: 0 }, context)
  await reservations.addRollout({ ...rolloutAsk('o1', 's'), rank: 0 }, context)
  await refused(t, reservations.updateRule(ruleAsk('r1', 'x', 'q'), context), 'not_found', either)
  await refused(t, reservations.updateRollout(rolloutAsk('o1', 'x', 'q'), context), 'not_found', odd)
  t.equal((await stateOf(log, segment, 'ns+s')).reservations.size, 2)
  t.equal((await stateOf(log, segment, 'ns+q')).reservations.size, 0)
})

await t.test('no segment is reserved for a missing flag, rule or rollout', async (t) => {
  const { log, reservations, before } = await started()
  const gone = { key: 'gone' }
  const rule = { ...ruleAsk('r1', 's'), ...gone, rank: 0 }
  const rollout = { ...rolloutAsk('o1', 's'), ...gone, rank: 0 }
  await refused(t, reservations.addRule(rule, context), 'not_found', 'flag "ns/gone" or segment "ns/s" not found')
  await refused(t, reservations.addRollout(rollout, context), 'not_found', 'flag "ns/gone or segment s" not found')
  const part = { type: 'threshold', percentage: 50, value: true } as const
  await refused(t, reservations.addRollout({ ...rollout, part }, context), 'not_found', 'flag "ns/gone" not found')
  await refused(t, reservations.updateRule(ruleAsk('r9', 's'), context), 'not_found', 'rule "ns/r9" not found')
  await refused(t, reservations.updateRollout(rolloutAsk('o9', 's'), context), 'not_found', 'rollout "ns/o9" not found')
  t.equal(log.all.length, before)
})

await t.test('a segment cannot be deleted until the flag that uses it is deleted', async (t) => {
  const { reservations } = await started()
  await reservations.addRule({ ...ruleAsk('r1', 's', 'q'), rank: 0 }, context)
  await reservations.addRollout({ ...rolloutAsk('o1', 's'), rank: 0 }, context)
  await refused(t, reservations.deleteSegment(ofSegment, context), 'in_use', 'segment "ns/s" is in use')
  const deleted = await reservations.deleteFlag(ofFlag, context)
  t.strictSame(types(deleted.stored), [
    'flag-ns+f: FlagDeleted',
    'namespace-ns: FlagUnregistered',
    'segment-ns+s: SegmentDetached',
    'segment-ns+q: SegmentDetached',
    'segment-ns+s: SegmentDetached',
  ])
  t.strictSame(types((await reservations.deleteSegment(ofSegment, context)).stored), ['segment-ns+s: SegmentDeleted'])
  t.strictSame((await reservations.deleteSegment(ofSegment, context)).stored, [])
})

await t.test('a namespace with a flag is deleted only by force, together with its segments', async (t) => {
  const { log, reservations } = await started()
  const full = 'namespace "ns" cannot be deleted; flags must be deleted first'
  await refused(t, reservations.deleteNamespace({ key: 'ns', force: false }, context), 'not_empty', full)
  await refused(
    t,
    reservations.deleteNamespace({ key: 'no', force: false }, context),
    'not_found',
    'namespace "no" not found',
  )
  const forced = await reservations.deleteNamespace({ key: 'ns', force: true }, context)
  t.strictSame(types(forced.stored), ['namespace-ns: NamespaceDeleted'])
  await refused(t, reservations.createSegment(segmentAsk('x'), context), 'not_found', 'namespace "ns" not found')
  await refused(t, reservations.createFlag(flagAsk('x'), context), 'not_found', 'namespace "ns" not found')
  t.strictSame(await complaints(log), [])
})

await t.test('a namespace that is created again is empty', async (t) => {
  const { log, reservations, execute } = await started()
  await reservations.addRule({ ...ruleAsk('r1', 's'), rank: 0 }, context)
  await reservations.deleteNamespace({ key: 'ns', force: true }, context)
  const again = { key: 'ns', incarnation: 'life-2', name: '', description: '', protected: false }
  await execute(namespace, 'ns', 'CreateNamespace', again, context)
  const of = { ...ofFlag, incarnation: 'life-2' }
  t.strictSame((await reservations.deleteFlag(of, context)).stored, [])
  t.strictSame((await reservations.deleteSegment({ ...ofSegment, incarnation: 'life-2' }, context)).stored, [])
  await reservations.createSegment(segmentAsk('s'), context)
  const { state } = await reservations.createFlag(flagAsk('f'), context)
  t.strictSame([state.incarnation, state.generation, state.rules], ['life-2', 2, []])
  await refused(
    t,
    reservations.addRule({ ...ruleAsk('r2', 's'), rank: 0 }, context),
    'not_found',
    'flag "ns/f" or segment "ns/s" not found',
  )
  t.strictSame(await complaints(log), [])
})

await t.test('a command that is repeated with its id has one effect and the same result', async (t) => {
  const { log, reservations, before } = await started()
  const named = { ...context, commandId: 'command-1' }
  const once = await reservations.createFlag(flagAsk('g'), named)
  const twice = await reservations.createFlag(flagAsk('g'), named)
  t.ok(twice.repeated)
  t.strictSame([twice.state, twice.revision], [once.state, once.revision])
  const rule = { ...ruleAsk('r1', 's'), rank: 0 }
  await reservations.addRule(rule, named)
  await reservations.addRule(rule, named)
  const count = (type: string) => log.all.slice(before).filter((event) => event.type === type).length
  t.strictSame([count('FlagCreated'), count('RuleAdded')], [1, 1])
  t.equal((await stateOf(log, namespace, 'ns')).reservations.size, 2)
  t.equal((await stateOf(log, segment, 'ns+s')).reservations.size, 1)
  t.strictSame(await complaints(log), [])
})

await t.test('a batch that is repeated with its id has one effect, and reserves each segment once', async (t) => {
  const { log, reservations, before } = await started()
  await reservations.addRule({ ...ruleAsk('r0', 's'), rank: 0 }, context)
  const named = { ...context, commandId: 'command-1' }
  const once = await reservations.changeFlag(changesAsk('s', 'q'), named)
  await reservations.removeRollout({ ...ofFlag, id: 'rollout-q' }, context)
  const twice = await reservations.changeFlag(changesAsk('s', 'q'), named)
  t.strictSame([twice.repeated, twice.revision], [true, once.revision])
  t.strictSame([twice.state.rules.length, twice.state.rollouts.length], [2, 2], 'as of then')
  const count = (type: string) => log.all.slice(before).filter((event) => event.type === type).length
  t.strictSame([count('RuleAdded'), count('RolloutAdded'), count('RuleRemoved')], [3, 2, 1])
  for (const key of ['s', 'q']) t.equal((await stateOf(log, segment, `ns+${key}`)).reservations.size, 1)
  t.strictSame(await complaints(log), [])
})

await t.test('a batch whose last change is refused writes nothing and reserves no segment', async (t) => {
  const { log, reservations } = await started()
  const ask = changesAsk('s', 'q')
  const wrong = { ...ask, changes: [...ask.changes, { op: 'UpdateRollout', id: 'none' } as const] }
  const head = log.all.filter(({ stream }) => stream.startsWith('flag-')).length
  await refused(t, reservations.changeFlag(wrong, context), 'not_found', 'rollout "ns/none" not found')
  await refused(
    t,
    reservations.changeFlag(changesAsk('s', 'none'), context),
    'not_found',
    'flag "ns/f" or segment "ns/none" not found',
  )
  t.equal(log.all.filter(({ stream }) => stream.startsWith('flag-')).length, head)
  for (const key of ['s', 'q']) t.equal((await stateOf(log, segment, `ns+${key}`)).reservations.size, 0)
})

await t.test('a command that is repeated with its id returns its first result, despite later events', async (t) => {
  const { log, execute } = await started()
  const create = () =>
    execute(segment, 'ns+new', 'CreateSegment', { ...segmentAsk('new'), incarnation: 'life-1', generation: 1 }, named)
  const named = { ...context, commandId: 'command-1' }
  const once = await create()
  const { matchType, ...rest } = segmentAsk('new')
  const renamed = { ...rest, matchType, incarnation: 'life-1', name: 'renamed' }
  await execute(segment, 'ns+new', 'UpdateSegment', renamed, context)
  const twice = await create()
  t.strictSame([twice.repeated, twice.state.name, twice.revision], [true, 'new', 1n])
  t.strictSame(types(twice.stored), types(once.stored))
  t.equal((await stateOf(log, segment, 'ns+new')).name, 'renamed')
})

await t.test('a refused command can succeed later with the same id', async (t) => {
  const { log, reservations } = await started()
  const named = { ...context, commandId: 'command-1' }
  await refused(t, reservations.createFlag(flagAsk('f'), named), 'not_unique', 'flag "ns/f" is not unique')
  await reservations.deleteFlag(ofFlag, context)
  await reservations.createFlag(flagAsk('f'), named)
  t.strictSame(await complaints(log), [], 'the flag stands under a reservation')
})

await t.test('If-Match is compared with the revision of the flag, without events of reservations', async (t) => {
  const { log, reservations } = await started()
  const rule = { ...ruleAsk('r1', 's'), rank: 0 }
  await refused(
    t,
    reservations.addRule(rule, { ...context, ifMatch: ['7'] }),
    'revision_moved',
    'revision moved: have "1", given "7"',
  )
  t.equal((await stateOf(log, segment, 'ns+s')).reservations.size, 0)
  t.equal((await reservations.addRule(rule, { ...context, ifMatch: ['1'] })).revision, 2n)
  const taken = { ...ruleAsk('r2', 's'), rank: 1 }
  await refused(
    t,
    reservations.addRule(taken, { ...context, ifMatch: ['1'] }),
    'revision_moved',
    'revision moved: have "2", given "1"',
  )
  await refused(
    t,
    reservations.addRule(taken, { ...context, ifMatch: ['2'] }),
    'rank_taken',
    'rank number: 1 already exists',
  )
  await refused(
    t,
    reservations.createFlag(flagAsk('g'), { ...context, ifMatch: '*' }),
    'revision_moved',
    'revision moved: have "0", given "*"',
  )
  const gone = { ...ofFlag, incarnation: 'life-2' }
  await refused(
    t,
    reservations.deleteFlag(gone, { ...context, ifMatch: ['2'], needsEffect: true }),
    'revision_moved',
    'revision moved: have "0", given "2"',
  )
  t.equal((await reservations.deleteFlag(ofFlag, { ...context, ifMatch: ['2'], needsEffect: true })).revision, 3n)
  t.equal((await stateOf(log, flag, 'ns+f')).incarnation, undefined)
})

await t.test('a defect during the release of reservations is reported in place of the refusal', async (t) => {
  const log = memoryLog()
  await begin(log)
  const { reservations } = instance({
    ...log,
    append: (stream, events, expected) =>
      events.some(({ type }) => type === 'FlagUnregistered')
        ? Promise.reject(new Error('a defect'))
        : log.append(stream, events, expected),
  })
  await t.rejects(reservations.createFlag(flagAsk('f'), context), { message: 'a defect' })
  t.strictSame(await complaints(log), [], 'what it held goes stale by itself')
})

await t.test('a command on a rule reads its flag once, and again after a conflict', async (t) => {
  const steps: string[] = []
  let others: (() => Promise<unknown>) | undefined
  const log = memoryLog({
    pause: async (what) => {
      steps.push(what)
      if (!what.startsWith('append segment-')) return
      const now = others
      others = undefined
      await now?.()
    },
  })
  await begin(log)
  const { reservations } = instance(log)
  const reads = () => steps.filter((step) => step === 'read flag-ns+f').length
  steps.length = 0
  await reservations.addRule({ ...ruleAsk('one', 's'), rank: 0 }, context)
  t.equal(reads(), 1)

  others = () => instance(log, 'two').reservations.addRule({ ...ruleAsk('two', 'q'), rank: 0 }, context)
  steps.length = 0
  const { state } = await reservations.addRule({ ...ruleAsk('three', 's'), rank: 0 }, context)
  t.strictSame(state.rules.map(({ id }) => id).sort(), ['one', 'three', 'two'])
  t.equal(reads(), 3, 'once by each, and once more after the race')
  t.strictSame(await complaints(log), [])
})

await t.test('a stream that is known to be empty is read only after a conflict', async (t) => {
  const steps: string[] = []
  const log = memoryLog({ pause: async (what) => void steps.push(what) })
  const { execute } = instance(log)
  const ask = { ...segmentAsk('new'), incarnation: 'life', generation: 1 }
  const create = () => execute(segment, 'ns+new', 'CreateSegment', ask, context, unwritten(segment))
  t.equal((await create()).revision, 1n)
  t.strictSame(steps, ['append segment-ns+new SegmentCreated'])
  await refused(t, create(), 'not_unique', 'segment "ns/new" is not unique')
})
