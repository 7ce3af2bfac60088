import { refuse } from '../errors.ts'
import { changed, changes, replaced, without } from '../events/change.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type Constraint, type MatchType, type SegmentEvent, segmentEvents } from '../events/segment.ts'
import type { Decider } from './decider.ts'
import type { Reservation } from './namespace.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'
import { bounded, bytesOf } from './size.ts'

/** What every command on a segment names: the segment, and the life of the namespace that is meant. */
export type OfSegment = { readonly namespace: string; readonly key: string; readonly incarnation: string }

export type SegmentCommands = {
  CreateSegment: DataOf<SegmentEvent, 'SegmentCreated'>
  UpdateSegment: OfSegment & { readonly name: string; readonly description: string; readonly matchType: MatchType }
  /** `stale` are the reservations known to hold no rule or rollout, now or ever. */
  DeleteSegment: OfSegment & { readonly stale: ReadonlySet<string> }
  AddConstraint: OfSegment & { readonly constraint: Constraint }
  UpdateConstraint: OfSegment & { readonly constraint: Constraint }
  RemoveConstraint: OfSegment & { readonly id: string }
  AttachSegment: DataOf<SegmentEvent, 'SegmentAttached'>
  DetachSegment: OfSegment & { readonly reservation: string }
}

export type Segment = {
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
const missing = ({ namespace, key }: OfSegment) => refuse('not_found', `segment "${namespace}/${key}" not found`)

const whole: Decider<Segment, SegmentCommands, SegmentEvent> = {
  category: 'segment',
  shapes: segmentEvents,
  read: reader(segmentEvents),
  initial: absent({ generation: 0 }),
  exists: lives,
  quiet: new Set(['SegmentAttached', 'SegmentDetached']),
  weight: ({ description, constraints }) => bytesOf({ description, constraints }),

  decide: {
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
      if (!present) return refuse('not_found', `constraint "${constraint.id}" not found`)
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
  },

  evolve: {
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
  },
}

/**
 * One segment with its constraints, and the reservations of its users (docs/decisions/0003). A segment of another life
 * of its namespace counts as none.
 */
export const segment = bounded(whole, ({ reservations: _reservations, ...parts }) => parts)
