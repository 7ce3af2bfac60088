import { refuse } from '../../base/errors.ts'
import { changed, changes, moved, replaced, without } from '../../events/change.ts'
import { type Rollout, type SegmentOperator, shortFloat32, type Use } from '../../events/flag.ts'
import { freeRank, numbered, operatorOf, ordered } from './rules.ts'
import { type Decide, type Evolve, type Flag, lives, naming, noFlag, type OfFlag, used } from './state.ts'

/**
 * Value of a rollout and its target: a percentage of the entities, or the entities in segments. `percentage` is a
 * float32 value.
 */
export type RolloutPart =
  | { readonly type: 'threshold'; readonly percentage: number; readonly value: boolean }
  | {
      readonly type: 'segment'
      readonly segments: readonly string[]
      readonly operator: SegmentOperator
      readonly value: boolean
    }

/** `reservations`: the new reservations for segments that the rollout does not use yet. */
type RolloutRequest = OfFlag & {
  readonly id: string
  readonly description: string
  readonly part: RolloutPart
  readonly reservations: readonly Use[]
}

export type RolloutCommands = {
  /** `rank` 0 = last. */
  AddRollout: RolloutRequest & { readonly rank: number }
  UpdateRollout: RolloutRequest
  RemoveRollout: OfFlag & { readonly id: string }
  /** `field`: name of the ids in the request. */
  OrderRollouts: OfFlag & { readonly ids: readonly string[]; readonly field?: string }
}

/** Segments of a rollout part. */
export const segmentsOf = (part: RolloutPart): readonly string[] => (part.type === 'segment' ? part.segments : [])

/**
 * Refuses a new or changed rollout whose flag or segment is missing. The position of the quotes follows api.md §7.8.
 */
export const noRolloutParent = ({ namespace, key }: OfFlag, segment: string): never =>
  refuse('not_found', `flag "${namespace}/${key} or segment ${segment}" not found`)

const typeNames = { threshold: 'THRESHOLD_ROLLOUT_TYPE', segment: 'SEGMENT_ROLLOUT_TYPE' } as const

type Fields<T extends Rollout['type']> = Omit<Extract<Rollout, { type: T }>, 'id' | 'rank'>

/** Rollout with the shortest decimal of its percentage. */
const shortened = <T extends Rollout | RolloutPart>(rollout: T): T =>
  rollout.type === 'threshold' ? { ...rollout, percentage: shortFloat32(rollout.percentage) } : rollout

const shaped = (
  flag: Flag,
  description: string,
  part: RolloutPart,
  held: readonly Use[],
  reservations: readonly Use[],
) => {
  if (part.type === 'threshold') return { description, ...shortened(part) } satisfies Fields<'threshold'>
  const segments = used(flag, part.segments, held, reservations)
  return { description, ...part, segments, operator: operatorOf(segments, part.operator) } satisfies Fields<'segment'>
}

export const decideRollouts: Decide<RolloutCommands> = {
  AddRollout: (flag, { id, rank, description, part, reservations, ...of }) => {
    if (!lives(flag, of)) return part.type === 'segment' ? noRolloutParent(of, part.segments[0]!) : noFlag(of)
    if (flag.rollouts.some((rollout) => rollout.id === id)) return []
    const free = freeRank(flag.rollouts, rank)
    return [
      {
        type: 'RolloutAdded',
        data: { ...naming(of), rollout: { id, rank: free, ...shaped(flag, description, part, [], reservations) } },
      },
    ]
  },

  UpdateRollout: (flag, { id, description, part, reservations, ...of }) => {
    const rollout = flag.rollouts.find((rollout) => rollout.id === id)
    if (!rollout) return refuse('not_found', `rollout "${of.namespace}/${id}" not found`)
    if (rollout.type !== part.type)
      return refuse(
        'type_change',
        `cannot change type of rollout: have "${typeNames[rollout.type]}" attempted "${typeNames[part.type]}"`,
      )
    const held = rollout.type === 'segment' ? rollout.segments : []
    const found = changes<object>(shortened(rollout), shaped(flag, description, part, held, reservations))
    return found ? [{ type: 'RolloutUpdated', data: { ...naming(of), rollout: { id, ...found } } }] : []
  },

  RemoveRollout: ({ rollouts }, { id, ...of }) =>
    rollouts.some((rollout) => rollout.id === id)
      ? [{ type: 'RolloutRemoved', data: { ...naming(of), rollout: id, moved: numbered(without(rollouts, id)) } }]
      : [],

  OrderRollouts: (flag, { ids, field = 'rolloutIds', ...of }) => {
    if (!lives(flag, of)) return noFlag(of)
    const moves = ordered(flag.rollouts, ids, field)
    return moves.length > 0 ? [{ type: 'RolloutsReordered', data: { ...naming(of), moved: moves } }] : []
  },
}

export const evolveRollouts: Evolve<'RolloutAdded' | 'RolloutUpdated' | 'RolloutRemoved' | 'RolloutsReordered'> = {
  RolloutAdded: (flag, { rollout }) => ({ ...flag, rollouts: moved([...flag.rollouts, rollout], []) }),
  RolloutUpdated: (flag, { rollout }) => ({
    ...flag,
    rollouts: replaced(flag.rollouts, rollout.id, (part) => changed(part, rollout)),
  }),
  RolloutRemoved: (flag, { rollout, moved: moves }) => ({
    ...flag,
    rollouts: moved(without(flag.rollouts, rollout), moves),
  }),
  RolloutsReordered: (flag, { moved: moves }) => ({ ...flag, rollouts: moved(flag.rollouts, moves) }),
}
