import { reader } from '../../events/define.ts'
import {
  type Distribution,
  type FlagEvent,
  flagEvents,
  type Rollout,
  type SegmentOperator,
  type Use,
  type Variant,
} from '../../events/flag.ts'
import type { Decided, Decider } from '../decider.ts'
import { asOne, at, eventsOf, inSequence, insistOnSize, insistOnWork, type Step } from '../sequence.ts'
import { bounded, bytesOf } from '../size.ts'
import { type RolloutPart, segmentsOf } from './rollouts.ts'
import { decideSingle, evolveFlag, evolveSingle, type SingleCommands } from './singles.ts'
import { absent, type Decide, type Flag, lives, noFlag, type OfFlag, usesOf } from './state.ts'

type PartialFields<T> = { readonly [K in keyof T]?: T[K] | undefined }
type PartGiven<P> = P extends { readonly type: infer T } ? { readonly type: T } & PartialFields<Omit<P, 'type'>> : never
type Identified = { readonly id: string }
type BySegments = { readonly segments: readonly string[]; readonly operator: SegmentOperator }
type Shares = { readonly distributions: readonly Distribution[] }

/** Changes of a flag, by command. Absent fields of an update stay unchanged. New rules and rollouts are appended. */
type Members = {
  UpdateFlag: PartialFields<Omit<SingleCommands['UpdateFlag'], keyof OfFlag>>
  AddVariant: Variant
  UpdateVariant: Identified & PartialFields<Omit<Variant, 'id'>>
  RemoveVariant: Identified
  AddRule: Identified & BySegments & Shares
  /** `distributions` replaces all distributions of the rule. */
  UpdateRule: Identified & PartialFields<BySegments & Shares>
  RemoveRule: Identified
  OrderRules: { readonly ids: readonly string[] }
  AddRollout: Identified & { readonly description: string; readonly part: RolloutPart }
  UpdateRollout: Identified & PartialFields<{ readonly description: string; readonly part: PartGiven<RolloutPart> }>
  RemoveRollout: Identified
  OrderRollouts: { readonly ids: readonly string[] }
}
export type FlagChange = { [K in keyof Members]: { readonly op: K } & Members[K] }[keyof Members]

export type ChangeCommands = {
  /** Applies all changes in order, or none. `reservations` holds one entry for each segment that parts start to use. */
  ChangeFlag: OfFlag & { readonly changes: readonly FlagChange[]; readonly reservations: readonly Use[] }
}
type ChangeRequest = ChangeCommands['ChangeFlag']
type FlagStep = Step<Flag, FlagEvent>

const single =
  <K extends keyof SingleCommands>(name: K, command: SingleCommands[K]): FlagStep =>
  (flag) =>
    decideSingle[name](flag, command)

/** Returns the fields that are not undefined. */
const given = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never

const byId = <P extends Identified>(parts: readonly P[], id: string): P | undefined =>
  parts.find((part) => part.id === id)
const keysOf = (uses: readonly Use[]) => uses.map(({ segment }) => segment)

/**
 * Steps that give a rule the requested distributions. Remaining distributions keep their ids. Removals and reductions
 * come first, so that an intermediate total exceeds 100 % only if the final total does.
 */
const shareSteps = (
  of: OfFlag & { readonly rule: string },
  present: readonly Distribution[],
  wanted: readonly Distribution[],
) => {
  const stay: Distribution[] = []
  for (const part of present) if (part.variantId === wanted[stay.length]?.variantId) stay.push(part)
  const staying = new Set(stay)
  const updates = stay
    .map((part, n) => ({ n, distribution: { ...wanted[n]!, id: part.id }, growth: wanted[n]!.rollout - part.rollout }))
    .sort((one, other) => one.growth - other.growth)
  const place = (n: number, step: FlagStep) => at(`distributions[${n}]`, step)
  return [
    ...present
      .filter((part) => !staying.has(part))
      .map(({ id, variantId }) => single('RemoveDistribution', { ...of, id, variantId })),
    ...updates.map(({ n, distribution }) => place(n, single('UpdateDistribution', { ...of, distribution }))),
    ...wanted
      .slice(stay.length)
      .map((distribution, n) => place(stay.length + n, single('AddDistribution', { ...of, distribution }))),
  ]
}

const shares =
  (of: OfFlag, rule: string, wanted: readonly Distribution[]): FlagStep =>
  (flag) =>
    asOne(evolveFlag, shareSteps({ ...of, rule }, byId(flag.rules, rule)?.distributions ?? [], wanted))(flag)

const blank = {
  threshold: { type: 'threshold', percentage: 0, value: false },
  segment: { type: 'segment', segments: [], operator: 'or', value: false },
} as const satisfies Readonly<Record<Rollout['type'], RolloutPart>>

/**
 * Merges the given fields into the present variant, rule or rollout. A change of type is passed on and then refused by
 * the command.
 */
const partAfter = (present: Rollout | undefined, part: PartGiven<RolloutPart> | undefined): RolloutPart => {
  const type = part?.type ?? present?.type ?? 'threshold'
  if (present?.type !== type) return { ...blank[type], ...(part && given(part)) } as RolloutPart
  const { value } = present
  const kept: RolloutPart =
    present.type === 'threshold'
      ? { type: 'threshold', percentage: present.percentage, value }
      : { type: 'segment', segments: keysOf(present.segments), operator: present.operator, value }
  return { ...kept, ...(part && given(part)) } as RolloutPart
}

const stepsOf: {
  readonly [K in keyof Members]: (of: OfFlag, change: Members[K], reservations: readonly Use[]) => FlagStep
} = {
  UpdateFlag: (of, change) => (flag) => {
    const { name, description, enabled, defaultVariantId } = flag
    return single('UpdateFlag', { name, description, enabled, defaultVariantId, ...given(change), ...of })(flag)
  },

  AddVariant: (of, variant) => single('AddVariant', { ...of, variant }),
  UpdateVariant:
    (of, { id, ...change }) =>
    (flag) => {
      const { key, name, description, attachment } = {
        key: '',
        name: '',
        description: '',
        attachment: '',
        ...byId(flag.variants, id),
      }
      return single('UpdateVariant', { ...of, variant: { key, name, description, attachment, ...given(change), id } })(
        flag,
      )
    },
  RemoveVariant: (of, { id }) => single('RemoveVariant', { ...of, id }),

  AddRule: (of, { id, segments, operator, distributions }, reservations) =>
    asOne(evolveFlag, [
      single('AddRule', { ...of, id, rank: 0, segments, operator, reservations }),
      shares(of, id, distributions),
    ]),
  UpdateRule:
    (of, { id, segments, operator, distributions }, reservations) =>
    (flag) => {
      const present = byId(flag.rules, id)
      const rule = {
        segments: segments ?? keysOf(present?.segments ?? []),
        operator: operator ?? present?.operator ?? 'or',
      }
      const update = single('UpdateRule', { ...of, id, ...rule, reservations })
      return asOne(evolveFlag, distributions ? [update, shares(of, id, distributions)] : [update])(flag)
    },
  RemoveRule: (of, { id }) => single('RemoveRule', { ...of, id }),
  OrderRules: (of, { ids }) => single('OrderRules', { ...of, ids, field: 'ids' }),

  AddRollout: (of, { id, description, part }, reservations) =>
    single('AddRollout', { ...of, id, rank: 0, description, part, reservations }),
  UpdateRollout:
    (of, { id, description, part }, reservations) =>
    (flag) => {
      const present = byId(flag.rollouts, id)
      return single('UpdateRollout', {
        ...of,
        id,
        description: description ?? present?.description ?? '',
        part: partAfter(present, part),
        reservations,
      })(flag)
    },
  RemoveRollout: (of, { id }) => single('RemoveRollout', { ...of, id }),
  OrderRollouts: (of, { ids }) => single('OrderRollouts', { ...of, ids, field: 'ids' }),
}

const sharesIn = (list: readonly { readonly distributions?: readonly unknown[] | undefined }[]) =>
  list.reduce((sum, { distributions = [] }) => sum + distributions.length, 0)
/** Cost of a change: 1, plus the number of its distributions and of the segments that it names. */
const workOf = (change: FlagChange): number =>
  1 + ('distributions' in change ? sharesIn([change]) : 0) + segmentsNamed(change).length

/** Segments named by a new or changed part. */
export const segmentsNamed = (change: FlagChange): readonly string[] => {
  if (change.op === 'AddRule' || change.op === 'UpdateRule') return change.segments ?? []
  if (change.op === 'AddRollout') return segmentsOf(change.part)
  return change.op === 'UpdateRollout' && change.part?.type === 'segment' ? (change.part.segments ?? []) : []
}

/** Decides the changes in order. Yields, for each change, its events and the state of the flag after it. */
export const decidedInOrder = (flag: Flag, { changes, reservations, ...of }: ChangeRequest) => {
  const { variants, rules, rollouts } = flag
  const work = changes.reduce((sum, change) => sum + workOf(change), 0)
  insistOnWork(work, variants.length + rules.length + rollouts.length + sharesIn(rules) + usesOf(flag).length)
  const each = changes.map(({ op, ...change }, n) =>
    at(`changes[${n}]`, stepsOf[op](of, change as never, reservations)),
  )
  return inSequence(evolveFlag, flag, each)
}

/** Decides the changes one by one. Refuses if the events are too large in total. */
function* changeSteps(flag: Flag, ask: ChangeRequest): Generator<Decided<Flag, FlagEvent>> {
  if (!lives(flag, ask)) noFlag(ask)
  yield* insistOnSize(decidedInOrder(flag, ask))
}

export type FlagCommands = SingleCommands & ChangeCommands

const decide: Decide<FlagCommands> = {
  ...decideSingle,
  ChangeFlag: (flag, ask) => eventsOf(changeSteps(flag, ask)),
}

/** Returns the flag, or the state of an absent flag if the flag belongs to an earlier incarnation of its namespace. */
const met = (flag: Flag, command: OfFlag): Flag => (lives(flag, command) ? flag : absent(flag))

const inLife = (table: Decide<FlagCommands>): Decide<FlagCommands> => {
  const wrapped = Object.entries(table).map(([name, decide]) => [
    name,
    (flag: Flag, command: OfFlag) => decide(met(flag, command), command as never),
  ])
  return Object.fromEntries(wrapped) as Decide<FlagCommands>
}

/** Size of the parts that count against the quota. Names, switches, percentages and ranks do not count. */
const weight = ({ description, metadata, variants, rules, rollouts }: Flag): number => {
  const ruled = rules.map((rule) => ({
    ...rule,
    rank: 0,
    distributions: rule.distributions.map((part) => ({ ...part, rollout: 0 })),
  }))
  const rolledOut = rollouts.map((rollout) => ({ ...rollout, rank: 0, percentage: 0, value: true }))
  return bytesOf({ description, metadata, variants, ruled, rolledOut })
}

const whole: Decider<Flag, FlagCommands, FlagEvent> = {
  category: 'flag',
  shapes: flagEvents,
  read: reader(flagEvents),
  initial: absent({ generation: 0, voided: new Set() }),
  exists: lives,
  quiet: new Set(['ReservationVoided']),
  weight,
  // Voiding a reservation applies to the flag in any incarnation, because a flag of any incarnation may hold it.
  decide: { ...inLife(decide), VoidReservation: decide.VoidReservation },
  steps: { ChangeFlag: (flag, ask) => changeSteps(met(flag, ask), ask) },
  evolve: evolveSingle,
}

/** Decider of a flag with its variants, rules and rollouts, which share rules of state (api.md §7.3 to §7.8). */
export const flag = bounded(whole, ({ voided: _voided, ...parts }) => parts)
