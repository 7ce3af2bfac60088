import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Decider, evolve } from '../../src/commands/decider.ts'
import type { FlagChange } from '../../src/commands/flag/flag.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { type Flag, usesOf } from '../../src/commands/flag/state.ts'
import { segmentsNeeded } from '../../src/commands/reservations.ts'
import { segment } from '../../src/commands/segment.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import type { FlagEvent } from '../../src/events/flag.ts'
import { refusalOf } from '../given.ts'
import { flagCreated, ofFlag, ofSegment, segmentCreated } from '../samples.ts'
import { flagAsks, flagChanges, segmentAsks, segmentChanges } from './asks.ts'
import { anyAsks, history } from './laws.ts'

const reservations = ['s', 'q', 'z'].map((segment) => ({ segment, reservation: `reservation-${segment}` }))

const after = <S, E extends AnyEvent>(
  decider: Pick<Decider<S, never, E>, 'evolve'>,
  state: S,
  events: readonly E[],
): S => events.reduce((state, event) => evolve(decider as Decider<S, never, E>, state, event), state)

const keys = (uses: readonly { readonly segment: string }[]) => uses.map(({ segment }) => segment)

/** Single commands that a client would send for one change in this state of the flag. */
const singly = (state: Flag, change: FlagChange): FlagEvent[] => {
  let now = state
  const done: FlagEvent[] = []
  const ask = (name: keyof typeof flag.decide, command: object) => {
    const events = (flag.decide[name] as (state: Flag, command: object) => readonly FlagEvent[])(now, {
      ...ofFlag,
      ...command,
    })
    done.push(...events)
    now = after(flag, now, events)
  }
  const shares = (rule: string, wanted: readonly { readonly variantId: string; readonly rollout: number }[]) => {
    const present = now.rules.find(({ id }) => id === rule)?.distributions ?? []
    const same =
      present.length === wanted.length &&
      present.every(({ variantId, rollout }, n) => variantId === wanted[n]!.variantId && rollout === wanted[n]!.rollout)
    if (same) return
    for (const { id, variantId } of present) ask('RemoveDistribution', { rule, id, variantId })
    for (const distribution of wanted) ask('AddDistribution', { rule, distribution })
  }
  switch (change.op) {
    case 'UpdateFlag': {
      const { name, description, enabled, defaultVariantId } = now
      ask('UpdateFlag', { name, description, enabled, defaultVariantId, ...change })
      break
    }
    case 'AddVariant': {
      const { op: _op, ...variant } = change
      ask('AddVariant', { variant })
      break
    }
    case 'UpdateVariant': {
      const { op: _op, ...update } = change
      ask('UpdateVariant', { variant: { ...now.variants.find(({ id }) => id === change.id), ...update } })
      break
    }
    case 'AddRule':
      ask('AddRule', { ...change, rank: 0, reservations })
      shares(change.id, change.distributions)
      break
    case 'UpdateRule': {
      const rule = now.rules.find(({ id }) => id === change.id)
      const { segments = keys(rule?.segments ?? []), operator = rule?.operator, distributions } = change
      ask('UpdateRule', { id: change.id, segments, operator, reservations })
      if (distributions) shares(change.id, distributions)
      break
    }
    case 'AddRollout':
      ask('AddRollout', { ...change, rank: 0, reservations })
      break
    case 'UpdateRollout': {
      const rollout = now.rollouts.find(({ id }) => id === change.id)
      const { description = rollout?.description, part } = change
      const {
        id: _id,
        rank: _rank,
        description: _description,
        ...present
      } = { id: '', rank: 0, description: '', ...rollout }
      const kept = 'segments' in present ? { ...present, segments: keys(present.segments) } : present
      ask('UpdateRollout', { id: change.id, description, part: { ...kept, ...part }, reservations })
      break
    }
    default:
      ask(change.op, change)
  }
  return done
}

/** The flag without ids of distributions, because combined changes keep the ids of remaining ones. */
const shown = ({ rules, ...state }: Flag) => ({
  ...state,
  rules: rules.map((rule) => ({
    ...rule,
    distributions: rule.distributions.map(({ variantId, rollout }) => ({ variantId, rollout })),
  })),
})

const begun = anyAsks(flagAsks, 20).map((asks) =>
  after(flag, after(flag, flag.initial, [flagCreated as FlagEvent]), historyOf(asks)),
)
const historyOf = (asks: Parameters<typeof history>[1]): FlagEvent[] =>
  history(
    { ...flag, initial: after(flag, flag.initial, [flagCreated as FlagEvent]) },
    asks.filter(({ name }) => !/^(Create|Delete|Void)/.test(name)),
  )

await t.test('a batch of changes of a flag has the effect of its single commands, or none', async (t) => {
  let [done, refused] = [0, 0]
  fc.assert(
    fc.property(begun, flagChanges, (state, changes) => {
      let single: Flag = state
      let why: { readonly n: number; readonly reason: string } | undefined
      for (const [n, change] of changes.entries()) {
        const refusal = refusalOf(() => (single = after(flag, single, singly(single, change))))
        if (!refusal) continue
        why = { n, reason: refusal.reason }
        break
      }
      let events: readonly FlagEvent[] = []
      const refusal = refusalOf(() => (events = flag.decide.ChangeFlag(state, { ...ofFlag, changes, reservations })))
      assert.equal(refusal?.reason, why?.reason)
      if (why) {
        refused++
        const place = refusal?.violation?.field ?? refusal?.metadata['member'] ?? ''
        assert.ok(place.startsWith(`changes[${why.n}]`), place)
      } else {
        done++
        assert.deepEqual(shown(after(flag, state, events)), shown(single))
      }
    }),
    { numRuns: 1_000, seed: 1 },
  )
  t.ok(done > 100 && refused > 100, `${done} done, ${refused} refused`)
})

await t.test('a batch of changes of a segment has the effect of its single commands, or none', async (t) => {
  const begun = anyAsks(segmentAsks, 20).map((asks) => {
    const initial = after(segment, segment.initial, [segmentCreated as never])
    const events = history(
      { ...segment, initial },
      asks.filter(({ name }) => !/^(Create|Delete)/.test(name)),
    )
    return after(segment, initial, events)
  })
  fc.assert(
    fc.property(begun, segmentChanges, (state, changes) => {
      const one = (state: typeof segment.initial, list: typeof changes) =>
        after(segment, state, segment.decide.ChangeSegment(state, { ...ofSegment, changes: list }))
      let single = state
      const alone = refusalOf(() => {
        for (const change of changes) single = one(single, [change])
      })
      let together = state
      const refusal = refusalOf(() => (together = one(state, changes)))
      assert.deepEqual(refusal?.reason, alone?.reason)
      assert.deepEqual(together, refusal ? state : single)
    }),
    { numRuns: 300 },
  )
  t.pass('the same')
})

await t.test('only segments that a batch uses for the first time are reserved', async (t) => {
  let needed = 0
  await fc.assert(
    fc.asyncProperty(begun, flagChanges, async (state, changes) => {
      const keys = await segmentsNeeded(state, { ...ofFlag, changes })
      const made = keys.map((segment) => ({ segment, reservation: `new-${segment}` }))
      const refusal = refusalOf(() => flag.decide.ChangeFlag(state, { ...ofFlag, changes, reservations: made }))
      assert.notEqual(refusal?.reason, 'write_conflict')
      for (const { segment } of refusal ? [] : made) {
        needed++
        const fewer = made.filter((use) => use.segment !== segment)
        const without = refusalOf(() => flag.decide.ChangeFlag(state, { ...ofFlag, changes, reservations: fewer }))
        assert.equal(without?.reason, 'write_conflict', `${segment} is needed`)
      }
    }),
    { numRuns: 2_000, seed: 1 },
  )
  t.ok(needed > 50, `${needed} needed`)
})

await t.test('distributions that remain keep their ids, and only differences become events', (t) => {
  const share = (id: string, variantId: string, rollout: number) => ({ id, variantId, rollout })
  const variant = (id: string) =>
    ({ op: 'AddVariant', id, key: id, name: '', description: '', attachment: '' }) as const
  const rule = { op: 'AddRule', id: 'r', segments: ['s'], operator: 'or' } as const
  const start = after(flag, flag.initial, [flagCreated as FlagEvent])
  const changed = (state: Flag, ...changes: readonly FlagChange[]) =>
    flag.decide.ChangeFlag(state, { ...ofFlag, changes, reservations })
  const made = after(
    flag,
    start,
    changed(start, ...['a', 'b', 'c'].map(variant), {
      ...rule,
      distributions: [share('1', 'a', 50), share('2', 'b', 50)],
    }),
  )
  const to = (...distributions: readonly ReturnType<typeof share>[]) => {
    const events = changed(made, { op: 'UpdateRule', id: 'r', distributions })
    return [events.map(({ type }) => type), after(flag, made, events).rules[0]?.distributions.map(({ id }) => id)]
  }
  const moved = 'DistributionUpdated'
  t.strictSame(to(share('x', 'a', 50), share('y', 'b', 50)), [[], ['1', '2']])
  t.strictSame(
    to(share('x', 'a', 70), share('y', 'b', 30)),
    [
      [moved, moved],
      ['1', '2'],
    ],
    'never beyond 100',
  )
  t.strictSame(to(share('x', 'a', 50), share('y', 'b', 25), share('z', 'c', 25)), [
    [moved, 'DistributionAdded'],
    ['1', '2', 'z'],
  ])
  t.strictSame(to(share('y', 'b', 50)), [['DistributionRemoved'], ['2']])
  t.strictSame(to(), [['DistributionRemoved', 'DistributionRemoved'], []])
  const refusal = refusalOf(() => to(share('x', 'a', 50), share('y', 'b', 50.5)))
  t.equal(refusal?.violation?.field, 'changes[0].distributions[1].rollout')
  t.equal(usesOf(made).length, 1)
  t.end()
})

await t.test('too many changes of a large flag are refused before they are decided', (t) => {
  const many = <T>(make: (n: number) => T) => Array.from({ length: 200 }, (_, n) => make(n))
  const rollouts = Array.from({ length: 12_000 }, (_, n) => ({
    id: `rollout-number-${n}`,
    rank: n + 1,
    description: '',
    type: 'threshold' as const,
    percentage: 1,
    value: true,
  }))
  const large = { ...after(flag, flag.initial, [flagCreated as FlagEvent]), rollouts }
  const changed = (changes: readonly FlagChange[]) =>
    refusalOf(() => flag.decide.ChangeFlag(large, { ...ofFlag, changes, reservations }))?.message
  const remove = (n: number): FlagChange => ({ op: 'RemoveRollout', id: `rollout-number-${n}` })
  t.equal(changed(many(remove)), 'invalid field changes: must not be so many where there are 12000 parts')
  t.equal(changed(many(remove).slice(0, 16)), 'invalid field changes: must not bring about more than 7 MiB of events')
  t.equal(changed(many(remove).slice(0, 2)), undefined)
  t.end()
})
