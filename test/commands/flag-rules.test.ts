import t from 'tap'
import { flag } from '../../src/commands/flag/flag.ts'
import { given } from '../given.ts'
import { flagCreated as created, distributionAdded, ofFlag, ruleAdded, variantAdded } from '../samples.ts'

const history = given(flag)
const use = (segment: string, reservation = `reservation-${segment}`) => ({ segment, reservation })
const ask = { ...ofFlag, id: 'r1', segments: ['s'], operator: 'or', reservations: [use('s')] } as const
const rule = ruleAdded('r1', 1, use('s'))
const [v1, v2] = [variantAdded('v1'), variantAdded('v2')]

await t.test('a rule without a rank is added at the end', async () => {
  history(created)
    .when('AddRule', { ...ask, rank: 0 })
    .then(rule)
  history(created, ruleAdded('r9', 7))
    .when('AddRule', { ...ask, rank: 0 })
    .then(ruleAdded('r1', 8, use('s')))
})

await t.test('a free rank is accepted for a rule, and an occupied one is refused', async (t) => {
  history(created, ruleAdded('r9', 2))
    .when('AddRule', { ...ask, rank: 1 })
    .then(rule)
  history(created, ruleAdded('r9', 2))
    .when('AddRule', { ...ask, rank: 2 })
    .refused('rank_taken', 'rank number: 2 already exists')
  const last = 2 ** 31 - 1
  history(created, ruleAdded('r9', last))
    .when('AddRule', { ...ask, rank: 0 })
    .refused('rank_taken', `rank number: ${last} already exists`)
  t.strictSame(
    history(created, ruleAdded('r9', 2), rule).state.rules.map(({ id }) => id),
    ['r1', 'r9'],
  )
})

await t.test('adding a rule that exists writes no event', async () => {
  history(created, rule)
    .when('AddRule', { ...ask, rank: 0 })
    .then()
})

await t.test('a rule of a missing flag is refused with the name of its first segment', async () => {
  history()
    .when('AddRule', { ...ask, rank: 0, segments: ['s', 'q'] })
    .refused('not_found', 'flag "ns/f" or segment "ns/s" not found')
  history(created).when('UpdateRule', ask).refused('not_found', 'rule "ns/r1" not found')
  history().when('UpdateRule', ask).refused('not_found', 'rule "ns/r1" not found')
})

await t.test('a rule stores each segment once in the given order, with the operator OR for a single one', async () => {
  history(created)
    .when('AddRule', {
      ...ask,
      rank: 0,
      segments: ['q', 's', 'q'],
      operator: 'and',
      reservations: [use('s'), use('q')],
    })
    .then({
      type: 'RuleAdded',
      data: { ...ofFlag, rule: { id: 'r1', rank: 1, segments: [use('q'), use('s')], operator: 'and' } },
    })
  history(created)
    .when('AddRule', { ...ask, rank: 0, segments: ['s', 's'], operator: 'and' })
    .then(rule)
})

await t.test('a rule needs a reservation of each of its segments', async () => {
  history(created)
    .when('AddRule', { ...ask, rank: 0, reservations: [] })
    .refused('write_conflict')
  history(created, rule)
    .when('UpdateRule', { ...ask, segments: ['q'], reservations: [] })
    .refused('write_conflict')
})

await t.test('an update of a rule keeps its rank and the reservations of remaining segments', async () => {
  history(created, rule)
    .when('UpdateRule', { ...ask, segments: ['q', 's'], operator: 'and', reservations: [use('q'), use('s', 'other')] })
    .then({
      type: 'RuleUpdated',
      data: {
        ...ofFlag,
        rule: {
          id: 'r1',
          segments: { from: [use('s')], to: [use('q'), use('s')] },
          operator: { from: 'or', to: 'and' },
        },
      },
    })
  history(created, rule).when('UpdateRule', ask).then()
})

await t.test('after a removal the remaining rules are numbered from 1', async () => {
  const rules = [ruleAdded('r1', 1), ruleAdded('r2', 5), ruleAdded('r3', 9)]
  const removed = (rule: string, ...moved: { id: string; from: number; to: number }[]) =>
    ({ type: 'RuleRemoved', data: { ...ofFlag, rule, moved } }) as const
  history(created, ...rules)
    .when('RemoveRule', { ...ofFlag, id: 'r1' })
    .then(removed('r1', { id: 'r2', from: 5, to: 1 }, { id: 'r3', from: 9, to: 2 }))
  history(created, ruleAdded('r1', 1), ruleAdded('r2', 2))
    .when('RemoveRule', { ...ofFlag, id: 'r2' })
    .then(removed('r2'))
  history(created)
    .when('RemoveRule', { ...ofFlag, id: 'r1' })
    .then()
  history()
    .when('RemoveRule', { ...ofFlag, id: 'r1' })
    .then()
})

await t.test('a new order puts the listed rules first and keeps the order of the others', async () => {
  const rules = [ruleAdded('r1', 1), ruleAdded('r2', 2), ruleAdded('r3', 3), ruleAdded('r4', 9)]
  const move = (id: string, from: number, to: number) => ({ id, from, to })
  history(created, ...rules)
    .when('OrderRules', { ...ofFlag, ids: ['r3', 'r1'] })
    .then({
      type: 'RulesReordered',
      data: { ...ofFlag, moved: [move('r3', 3, 1), move('r1', 1, 2), move('r2', 2, 3), move('r4', 9, 4)] },
    })
  history(created, ...rules.slice(0, 3))
    .when('OrderRules', { ...ofFlag, ids: ['r1', 'r2'] })
    .then()
  history(created, ...rules)
    .when('OrderRules', { ...ofFlag, ids: ['r1', 'x"y'] })
    .refused('invalid_argument', 'invalid field ruleIds: contains unknown id "x"y"')
  history()
    .when('OrderRules', { ...ofFlag, ids: ['r1', 'r2'] })
    .refused('not_found', 'flag "ns/f" not found')
})

await t.test('a distribution needs a rule and a variant of the same flag', async () => {
  const distribution = { id: 'd1', variantId: 'v1', rollout: 50 }
  const of = { ...ofFlag, rule: 'r1', distribution }
  const absent = 'variant "v1", rule "r1", flag "f" in namespace "ns" not found'
  history(created, v1, rule)
    .when('AddDistribution', of)
    .then(distributionAdded('r1', 'd1', 'v1', 50))
  for (const events of [[], [created], [created, v1], [created, rule]]) {
    history(...events)
      .when('AddDistribution', of)
      .refused('not_found', absent)
    history(...events)
      .when('UpdateDistribution', of)
      .refused('not_found', absent)
  }
  history(created, v1, rule).when('UpdateDistribution', of).refused('not_found', 'distribution "d1" not found')
})

await t.test('the distributions of a rule have at most 100 % in total', async () => {
  const base = [created, v1, v2, rule, distributionAdded('r1', 'd1', 'v1', 66.67)]
  const ask = (rollout: number) => ({ ...ofFlag, rule: 'r1', distribution: { id: 'd2', variantId: 'v2', rollout } })
  const tooMuch = 'invalid field rollout: distributions of a rule must not exceed 100 in total'
  history(...base)
    .when('AddDistribution', ask(Math.fround(33.33)))
    .then(distributionAdded('r1', 'd2', 'v2', 33.33))
  const early = [...base, distributionAdded('r1', 'd2', 'v2', Math.fround(33.33))]
  history(...early)
    .when('UpdateDistribution', ask(Math.fround(33.33)))
    .then()
  history(...base)
    .when('AddDistribution', ask(33.3309))
    .then(distributionAdded('r1', 'd2', 'v2', 33.3309))
  history(...base)
    .when('AddDistribution', ask(33.332))
    .refused('invalid_argument', tooMuch)
  const two = [...base, distributionAdded('r1', 'd2', 'v2', 33.33)]
  history(...two)
    .when('UpdateDistribution', ask(34))
    .refused('invalid_argument', tooMuch)
  history(...two)
    .when('UpdateDistribution', ask(10))
    .then({
      type: 'DistributionUpdated',
      data: { ...ofFlag, rule: 'r1', distribution: { id: 'd2', rollout: { from: 33.33, to: 10 } } },
    })
  history(...two)
    .when('UpdateDistribution', ask(33.33))
    .then()
})

await t.test('a variant may have two distributions, and a distribution may change its variant', async () => {
  const base = [created, v1, v2, rule, distributionAdded('r1', 'd1', 'v1', 10)]
  history(...base)
    .when('AddDistribution', { ...ofFlag, rule: 'r1', distribution: { id: 'd2', variantId: 'v1', rollout: 10 } })
    .then(distributionAdded('r1', 'd2', 'v1', 10))
  history(...base)
    .when('UpdateDistribution', { ...ofFlag, rule: 'r1', distribution: { id: 'd1', variantId: 'v2', rollout: 10 } })
    .then({
      type: 'DistributionUpdated',
      data: { ...ofFlag, rule: 'r1', distribution: { id: 'd1', variantId: { from: 'v1', to: 'v2' } } },
    })
})

await t.test('a distribution is removed only under its own rule and variant', async () => {
  const base = [created, v1, v2, rule, distributionAdded('r1', 'd1', 'v1', 10)]
  const ask = { ...ofFlag, rule: 'r1', id: 'd1', variantId: 'v1' }
  history(...base)
    .when('RemoveDistribution', ask)
    .then({ type: 'DistributionRemoved', data: { ...ofFlag, rule: 'r1', distribution: 'd1' } })
  history(...base)
    .when('RemoveDistribution', { ...ask, variantId: 'v2' })
    .then()
  history(...base)
    .when('RemoveDistribution', { ...ask, rule: 'r2' })
    .then()
  history(...base)
    .when('RemoveDistribution', { ...ask, id: 'd2' })
    .then()
  history().when('RemoveDistribution', ask).then()
})
