import t from 'tap'
import { flag } from '../../src/commands/flag/flag.ts'
import { holds } from '../../src/commands/flag/state.ts'
import { given } from '../given.ts'
import { flagCreated as created, ofFlag, ruleAdded, variantAdded } from '../samples.ts'

const history = given(flag)
const missing = 'flag "ns/f" not found'
const deleted = { type: 'FlagDeleted', data: ofFlag } as const
const second = {
  type: 'FlagCreated',
  data: { ...created.data, incarnation: 'life-2', generation: 2, reservation: 'reservation-2' },
} as const
const same = { ...ofFlag, name: 'Flag', description: '', enabled: false }

await t.test('a second flag with the same key is refused', async () => {
  history().when('CreateFlag', created.data).then(created)
  history(created).when('CreateFlag', created.data).refused('not_unique', 'flag "ns/f" is not unique')
  history(created, deleted).when('CreateFlag', created.data).then(created)
})

await t.test('in a namespace that was created again the earlier flag does not exist', async (t) => {
  history(created).when('CreateFlag', second.data).then(second)
  history(second).when('CreateFlag', created.data).refused('not_found', 'namespace "ns" not found')
  history(second).when('DeleteFlag', ofFlag).then()
  history(second).when('UpdateFlag', same).refused('not_found', missing)
  const [v1] = [variantAdded('v1').data.variant]
  history(second)
    .when('AddVariant', { ...ofFlag, variant: v1 })
    .refused('not_found', missing)
  t.strictSame(history(created, variantAdded('v1'), ruleAdded('r1', 1), second).state.variants, [])
})

await t.test('an update of a flag records the old and the new values', async () => {
  history(created)
    .when('UpdateFlag', { ...same, name: 'New', enabled: true, metadata: {} })
    .then({
      type: 'FlagUpdated',
      data: {
        ...ofFlag,
        name: { from: 'Flag', to: 'New' },
        enabled: { from: false, to: true },
        metadata: { from: { team: 'blue' }, to: {} },
      },
    })
  history().when('UpdateFlag', same).refused('not_found', missing)
  history(created, deleted).when('UpdateFlag', same).refused('not_found', missing)
})

await t.test('an update that changes nothing writes no event, and absent metadata are kept', async () => {
  history(created).when('UpdateFlag', same).then()
  history(created)
    .when('UpdateFlag', { ...same, metadata: { team: 'blue' }, defaultVariantId: '' })
    .then()
})

await t.test('the default variant is a variant of the flag, or none', async () => {
  const update = (defaultVariantId: { from?: string; to?: string }) =>
    ({ type: 'FlagUpdated', data: { ...ofFlag, defaultVariantId } }) as const
  const [v1, v2] = [variantAdded('v1'), variantAdded('v2')]
  history(created, v1)
    .when('UpdateFlag', { ...same, defaultVariantId: 'v1' })
    .then(update({ to: 'v1' }))
  history(created, v1, v2, update({ to: 'v1' }))
    .when('UpdateFlag', { ...same, defaultVariantId: 'v2' })
    .then(update({ from: 'v1', to: 'v2' }))
  history(created, v1, update({ to: 'v1' }))
    .when('UpdateFlag', same)
    .then(update({ from: 'v1' }))
  history(created, v1, update({ to: 'v1' }))
    .when('UpdateFlag', { ...same, defaultVariantId: 'v1' })
    .then()
  history(created)
    .when('UpdateFlag', { ...same, defaultVariantId: 'v9' })
    .refused('invalid_argument', 'variant "v9" not found for flag "ns/f"')
})

await t.test('deleting a flag deletes all its parts, and deleting a missing flag does nothing', async (t) => {
  history(created).when('DeleteFlag', ofFlag).then(deleted)
  history().when('DeleteFlag', ofFlag).then()
  const { variants, rules, reservation } = history(created, variantAdded('v1'), ruleAdded('r1', 1), deleted).state
  t.strictSame({ variants, rules, reservation }, { variants: [], rules: [], reservation: undefined })
})

await t.test('a reservation that was withdrawn is refused, and one in use is not withdrawn', async (t) => {
  const voided = (reservation: string) => ({ type: 'ReservationVoided', data: { ...ofFlag, reservation } }) as const
  const use = { segment: 's', reservation: 'u1' }
  history()
    .when('VoidReservation', { ...ofFlag, reservation: 'reservation-f' })
    .then(voided('reservation-f'))
  history(created)
    .when('VoidReservation', { ...ofFlag, reservation: 'reservation-f' })
    .then()
  history(second)
    .when('VoidReservation', { ...ofFlag, reservation: 'reservation-2' })
    .then()
  history(created, ruleAdded('r1', 1, use))
    .when('VoidReservation', { ...ofFlag, reservation: 'u1' })
    .then()
  history(created)
    .when('VoidReservation', { ...ofFlag, reservation: 'u1' })
    .then(voided('u1'))

  history(voided('reservation-f')).when('CreateFlag', created.data).refused('write_conflict')
  history(created, voided('x'), deleted, second, voided('u1'))
    .when('AddRule', {
      ...ofFlag,
      incarnation: 'life-2',
      id: 'r1',
      rank: 0,
      segments: ['s'],
      operator: 'or',
      reservations: [use],
    })
    .refused('write_conflict')
  t.ok(holds(history(created, ruleAdded('r1', 1, use)).state, 'u1'))
  t.notOk(holds(history(created).state, 'u1'))
  t.ok(flag.quiet?.has('ReservationVoided'), 'giving up a reservation does not move the revision')
})

await t.test('a command for a namespace that was deleted and created again finds no earlier flag', async (t) => {
  t.ok(flag.exists(history(created).state, ofFlag))
  t.notOk(flag.exists(history(created).state, { ...ofFlag, incarnation: 'life-2' }))
  t.notOk(flag.exists(history(created, deleted).state, ofFlag))
})
