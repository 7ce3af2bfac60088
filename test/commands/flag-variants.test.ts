import t from 'tap'
import { flag } from '../../src/commands/flag/flag.ts'
import type { FlagEvent } from '../../src/events/flag.ts'
import { given } from '../given.ts'
import { flagCreated as created, distributionAdded, ofFlag, ruleAdded, variantAdded } from '../samples.ts'

const history = given(flag)
const [v1, v2] = [variantAdded('v1'), variantAdded('v2')]
const { variant } = v1.data
const chosen = { type: 'FlagUpdated', data: { ...ofFlag, defaultVariantId: { to: 'v1' } } } as const

await t.test('two variants of a flag cannot have the same key', async () => {
  const taken = 'variant "key-v1" is not unique for flag "ns/f"'
  history(created)
    .when('AddVariant', { ...ofFlag, variant })
    .then(v1)
  history(created, v1)
    .when('AddVariant', { ...ofFlag, variant })
    .then()
  history(created, v1)
    .when('AddVariant', { ...ofFlag, variant: { ...variant, id: 'v3' } })
    .refused('not_unique', taken)
  history(created, v1, v2)
    .when('UpdateVariant', { ...ofFlag, variant: { ...variant, id: 'v2' } })
    .refused('not_unique', taken)
  history()
    .when('AddVariant', { ...ofFlag, variant })
    .refused('not_found', 'flag "ns/f" not found')
})

await t.test('an update of a variant records the changes', async () => {
  history(created, v1)
    .when('UpdateVariant', { ...ofFlag, variant: { ...variant, key: 'new', attachment: '{}' } })
    .then({
      type: 'VariantUpdated',
      data: {
        ...ofFlag,
        variant: { id: 'v1', key: { from: 'key-v1', to: 'new' }, attachment: { from: '', to: '{}' } },
      },
    })
  history(created, v1)
    .when('UpdateVariant', { ...ofFlag, variant })
    .then()
  history(created)
    .when('UpdateVariant', { ...ofFlag, variant })
    .refused('not_found', 'variant "v1" not found')
  history()
    .when('UpdateVariant', { ...ofFlag, variant })
    .refused('not_found', 'variant "v1" not found')
})

await t.test('removing a variant also removes its distributions, and the default if it was that', async (t) => {
  const parts = [ruleAdded('r1', 1), distributionAdded('r1', 'd1', 'v1', 50), distributionAdded('r1', 'd2', 'v2', 50)]
  const removed: FlagEvent = {
    type: 'VariantRemoved',
    data: { ...ofFlag, variant: 'v1', wasDefault: true, distributions: [{ rule: 'r1', distribution: 'd1' }] },
  }
  history(created, v1, v2, chosen, ...parts)
    .when('RemoveVariant', { ...ofFlag, id: 'v1' })
    .then(removed)
  const { state } = history(created, v1, v2, chosen, ...parts, removed)
  t.strictSame(
    state.rules[0]!.distributions.map(({ id }) => id),
    ['d2'],
  )
  t.notOk('defaultVariantId' in state)
  const other: FlagEvent = {
    type: 'VariantRemoved',
    data: { ...ofFlag, variant: 'v2', wasDefault: false, distributions: [] },
  }
  t.equal(history(created, v1, v2, chosen, other).state.defaultVariantId, 'v1')
})

await t.test('removing a missing variant writes no event', async () => {
  history(created)
    .when('RemoveVariant', { ...ofFlag, id: 'v1' })
    .then()
  history()
    .when('RemoveVariant', { ...ofFlag, id: 'v1' })
    .then()
})
