import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import type { Execute } from '../../src/commands/execute.ts'
import { namespace } from '../../src/commands/namespace.ts'
import type { Reservations } from '../../src/commands/reservations.ts'
import { namespaceCreated, ofFlag, ofSegment } from '../samples.ts'
import {
  begin,
  changesAsk,
  complaints,
  context,
  flagAsk,
  instance,
  rolloutAsk,
  ruleAsk,
  scheduledLog,
  segmentAsk,
} from './world.ts'

type Racer = (of: {
  readonly reservations: Reservations
  readonly execute: Execute
  readonly incarnation: string
}) => Promise<unknown>

const racers: Readonly<Record<string, Racer>> = {
  createFlag: ({ reservations }) => reservations.createFlag(flagAsk('f'), context),
  createOther: ({ reservations }) => reservations.createFlag(flagAsk('g'), context),
  deleteFlag: ({ reservations }) => reservations.deleteFlag(ofFlag, context),
  recreateFlag: async ({ reservations }) => {
    await reservations.deleteFlag(ofFlag, context)
    await reservations.createFlag(flagAsk('f'), context)
  },
  addRule: ({ reservations }) => reservations.addRule({ ...ruleAsk('r1', 's', 'q'), rank: 0 }, context),
  updateRule: ({ reservations }) => reservations.updateRule(ruleAsk('r0', 'q'), context),
  updateRuleBack: ({ reservations }) => reservations.updateRule(ruleAsk('r0', 's', 'q'), context),
  removeRule: ({ reservations }) => reservations.removeRule({ ...ofFlag, id: 'r0' }, context),
  addRollout: ({ reservations }) => reservations.addRollout({ ...rolloutAsk('o1', 'q'), rank: 0 }, context),
  updateRollout: ({ reservations }) => reservations.updateRollout(rolloutAsk('o1', 's'), context),
  changeFlag: ({ reservations }) => reservations.changeFlag(changesAsk('s', 'q'), context),
  removeRollout: ({ reservations }) => reservations.removeRollout({ ...ofFlag, id: 'o1' }, context),
  deleteSegment: ({ reservations }) => reservations.deleteSegment(ofSegment, context),
  deleteOtherSegment: ({ reservations }) => reservations.deleteSegment({ ...ofSegment, key: 'q' }, context),
  createSegment: ({ reservations }) => reservations.createSegment(segmentAsk('s'), context),
  deleteNamespace: ({ reservations }) => reservations.deleteNamespace({ key: 'ns', force: false }, context),
  forceNamespace: ({ reservations }) => reservations.deleteNamespace({ key: 'ns', force: true }, context),
  createNamespace: ({ execute, incarnation }) =>
    execute(namespace, 'ns', 'CreateNamespace', { ...namespaceCreated.data, incarnation }, context),
  nextLife: async ({ reservations, execute, incarnation }) => {
    await reservations.deleteNamespace({ key: 'ns', force: true }, context)
    await execute(namespace, 'ns', 'CreateNamespace', { ...namespaceCreated.data, incarnation }, context)
    await reservations.createFlag(flagAsk('g'), context)
  },
}

/** Clocks that differ by more than RESERVATION_LIFE_MS, because safety must not depend on time. */
const clock = (minutes: number) => () => new Date(Date.UTC(2026, 0, 1, 0, minutes))

const run = async (scheduler: fc.Scheduler, names: readonly string[], skews: readonly number[], empty: boolean) => {
  const { log, together } = scheduledLog(scheduler)
  await begin(log)
  const { reservations } = instance(log, 'before')
  if (empty) await reservations.deleteFlag(ofFlag, context)
  else await reservations.addRule({ ...ruleAsk('r0', 's'), rank: 0 }, context)
  const racer = (name: string, n: number) => () =>
    racers[name]!({ ...instance(log, `${name}-${n}`, clock(skews[n % skews.length]!)), incarnation: `life-of-${n}` })
  const results = await together(names.map(racer))
  for (const result of results)
    if (result.status === 'rejected') assert.ok(result.reason instanceof Refusal, String(result.reason))
  assert.deepEqual(await complaints(log), [])
}

const skews = fc.array(fc.constantFrom(0, 0, 10), { minLength: 3, maxLength: 6 })

await t.test('after any two racing commands every live flag has its segments and its namespace', async (t) => {
  const names = Object.keys(racers)
  const pairs = names.flatMap((one) => names.map((other) => [one, other] as const))
  await fc.assert(fc.asyncProperty(fc.scheduler(), fc.constantFrom(...pairs), skews, fc.boolean(), run), {
    numRuns: 600,
  })
  t.pass('always legal')
})

await t.test('after many racing commands every live flag has its segments and its namespace', async (t) => {
  const many = fc.array(fc.constantFrom(...Object.keys(racers)), { minLength: 3, maxLength: 7 })
  await fc.assert(fc.asyncProperty(fc.scheduler(), many, skews, fc.boolean(), run), { numRuns: 300 })
  t.pass('always legal')
})

for (const pair of [
  ['deleteSegment', 'addRule'],
  ['deleteSegment', 'updateRuleBack'],
  ['deleteOtherSegment', 'addRollout'],
  ['deleteNamespace', 'createFlag'],
  ['deleteFlag', 'recreateFlag'],
  ['deleteFlag', 'addRule'],
  ['deleteOtherSegment', 'changeFlag'],
  ['changeFlag', 'changeFlag'],
  ['createOther', 'nextLife'],
] as const) {
  await t.test(`racing commands: ${pair.join(' against ')}, from a full and from an empty namespace`, async (t) => {
    await fc.assert(fc.asyncProperty(fc.scheduler(), fc.constant(pair), skews, fc.boolean(), run), { numRuns: 100 })
    t.pass('always legal')
  })
}
