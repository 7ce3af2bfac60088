import { refuse } from '../base/errors.ts'
import { changed, changes, replaced, without } from '../events/change.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type Constraint, type MatchType, type SegmentEvent, segmentEvents } from '../events/segment.ts'
import type { Decided, Decider } from './decider.ts'
import type { Reservation } from './namespace.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'
import { at, eventsOf, inSequence, insistOnSize, insistOnWork, type Step } from './sequence.ts'
import { bounded, bytesOf } from './size.ts'

/** Addresses a segment in one incarnation of its namespace. */
type OfSegment = { readonly namespace: string; readonly key: string; readonly incarnation: string }

type Own = { readonly name: string; readonly description: string; readonly matchType: MatchType }
type SingleCommands = {
  CreateSegment: DataOf<SegmentEvent, 'SegmentCreated'>
  UpdateSegment: OfSegment & Own
  /** `stale`: reservations that no rule or rollout uses or can ever use. */
  DeleteSegment: OfSegment & { readonly stale: ReadonlySet<string> }
  AddConstraint: OfSegment & { readonly constraint: Constraint }
  UpdateConstraint: OfSegment & { readonly constraint: Constraint }
  RemoveConstraint: OfSegment & { readonly id: string }
  AttachSegment: DataOf<SegmentEvent, 'SegmentAttached'>
  DetachSegment: OfSegment & { readonly reservation: string }
}
/** One change of a segment. Absent fields of an update stay unchanged. `to` returns the new constraint, or refuses. */
export type SegmentChange =
  | ({ readonly op: 'UpdateSegment' } & { readonly [K in keyof Own]?: Own[K] | undefined })
  | { readonly op: 'AddConstraint'; readonly constraint: Constraint }
  | { readonly op: 'UpdateConstraint'; readonly id: string; readonly to: (present: Constraint) => Constraint }
  | { readonly op: 'RemoveConstraint'; readonly id: string }

export type SegmentCommands = SingleCommands & {
  /** Applies all changes in order, or none. */
  ChangeSegment: OfSegment & { readonly changes: readonly SegmentChange[] }
}

type Segment = {
  readonly incarnation: string | undefined
  readonly generation: number
  readonly name: string
  readonly description: string
  readonly matchType: MatchType
  readonly constraints: readonly Constraint[]
  readonly reservations: PersistentMap<Reservation>
}

const absent = ({ generation }: Pick<Segment, 'generation'>): Segment => ({
  incarnation: undefined,
  generation,
  name: '',
  description: '',
  matchType: 'all',
  constraints: [],
  reservations: emptyMap(),
})
const lives = ({ incarnation }: Segment, command: OfSegment) => incarnation === command.incarnation
const naming = ({ namespace, key, incarnation }: OfSegment) => ({ namespace, key, incarnation })
const noConstraint = (id: string) => refuse('not_found', `constraint "${id}" not found`)
const missing = ({ namespace, key }: OfSegment) => refuse('not_found', `segment "${namespace}/${key}" not found`)

type Of<C> = { readonly [K in keyof C]: (state: Segment, command: C[K]) => readonly SegmentEvent[] }

const decideSingle: Of<SingleCommands> = {
  CreateSegment: (state, data) => {
    if (lives(state, data)) return refuse('not_unique', `segment "${data.namespace}/${data.key}" is not unique`)
    if (data.generation < state.generation) return refuse('not_found', `namespace "${data.namespace}" not found`)
    return [{ type: 'SegmentCreated', data }]
  },

  UpdateSegment: (state, { name, description, matchType, ...of }) => {
    if (!lives(state, of)) return missing(of)
    const found = changes<Pick<Segment, 'name' | 'description' | 'matchType'>>(state, {
      name,
      description,
      matchType,
    })
    return found ? [{ type: 'SegmentUpdated', data: { ...naming(of), ...found } }] : []
  },

  DeleteSegment: (state, { stale, ...of }) => {
    if (!lives(state, of)) return []
    const free = state.reservations.every((reservation) => stale.has(reservation))
    return free
      ? [{ type: 'SegmentDeleted', data: naming(of) }]
      : refuse('in_use', `segment "${of.namespace}/${of.key}" is in use`)
  },

  AddConstraint: (state, { constraint, ...of }) => {
    if (!lives(state, of)) return missing(of)
    if (state.constraints.some(({ id }) => id === constraint.id)) return []
    return [{ type: 'ConstraintAdded', data: { ...naming(of), constraint } }]
  },

  UpdateConstraint: (state, { constraint, ...of }) => {
    const present = lives(state, of) ? state.constraints.find(({ id }) => id === constraint.id) : undefined
    if (!present) return noConstraint(constraint.id)
    const found = changes<Omit<Constraint, 'id'>>(present, constraint)
    return found
      ? [{ type: 'ConstraintUpdated', data: { ...naming(of), constraint: { id: constraint.id, ...found } } }]
      : []
  },

  RemoveConstraint: (state, { id, ...of }) =>
    lives(state, of) && state.constraints.some((constraint) => constraint.id === id)
      ? [{ type: 'ConstraintRemoved', data: { ...naming(of), constraint: id } }]
      : [],

  AttachSegment: (state, data) => {
    if (!lives(state, data)) return missing(data)
    return state.reservations.has(data.reservation) ? [] : [{ type: 'SegmentAttached', data }]
  },

  DetachSegment: (state, { reservation, ...of }) => {
    const held = lives(state, of) ? state.reservations.get(reservation) : undefined
    return held ? [{ type: 'SegmentDetached', data: { ...naming(of), flag: held.flag, reservation } }] : []
  },
}

const evolveSingle: Decider<Segment, SegmentCommands, SegmentEvent>['evolve'] = {
  SegmentCreated: (_, { namespace: _namespace, key: _key, ...data }) => ({ ...absent(data), ...data }),
  SegmentUpdated: (state, data) => changed<Segment>(state, data),
  SegmentDeleted: absent,
  ConstraintAdded: (state, { constraint }) => ({ ...state, constraints: [...state.constraints, constraint] }),
  ConstraintUpdated: (state, { constraint }) => ({
    ...state,
    constraints: replaced(state.constraints, constraint.id, (part) => changed(part, constraint)),
  }),
  ConstraintRemoved: (state, { constraint }) => ({ ...state, constraints: without(state.constraints, constraint) }),
  SegmentAttached: (state, { flag, reservation, reservedAt }) => ({
    ...state,
    reservations: state.reservations.set(reservation, { flag, reservedAt }),
  }),
  SegmentDetached: (state, { reservation }) => ({ ...state, reservations: state.reservations.delete(reservation) }),
}
const evolve = (state: Segment, { type, data }: SegmentEvent): Segment => evolveSingle[type](state, data as never)

const stepOf =
  (of: OfSegment, change: SegmentChange): Step<Segment, SegmentEvent> =>
  (state) => {
    if (change.op === 'AddConstraint')
      return decideSingle.AddConstraint(state, { ...of, constraint: change.constraint })
    if (change.op === 'RemoveConstraint') return decideSingle.RemoveConstraint(state, { ...of, id: change.id })
    if (change.op === 'UpdateConstraint') {
      const present = state.constraints.find(({ id }) => id === change.id) ?? noConstraint(change.id)
      return decideSingle.UpdateConstraint(state, { ...of, constraint: change.to(present) })
    }
    const { name = state.name, description = state.description, matchType = state.matchType } = change
    return decideSingle.UpdateSegment(state, { ...of, name, description, matchType })
  }

/** Decides the changes one by one. Refuses if the events are too large in total. */
function* changeSteps(
  state: Segment,
  { changes, ...of }: SegmentCommands['ChangeSegment'],
): Generator<Decided<Segment, SegmentEvent>> {
  if (!lives(state, of)) missing(of)
  insistOnWork(changes.length, state.constraints.length)
  const steps = changes.map((change, n) => at(`changes[${n}]`, stepOf(of, change)))
  yield* insistOnSize(inSequence(evolve, state, steps))
}

const decide: Of<SegmentCommands> = {
  ...decideSingle,
  ChangeSegment: (state, ask) => eventsOf(changeSteps(state, ask)),
}

const whole: Decider<Segment, SegmentCommands, SegmentEvent> = {
  category: 'segment',
  shapes: segmentEvents,
  read: reader(segmentEvents),
  initial: absent({ generation: 0 }),
  exists: lives,
  quiet: new Set(['SegmentAttached', 'SegmentDetached']),
  weight: ({ description, constraints }) => bytesOf({ description, constraints }),

  decide,
  steps: { ChangeSegment: changeSteps },
  evolve: evolveSingle,
}

/**
 * Decider of a segment with its constraints, and the reservations of its users (docs/decisions/0003). A segment of
 * another incarnation of its namespace counts as absent.
 */
export const segment = bounded(whole, ({ reservations: _reservations, ...parts }) => parts)
