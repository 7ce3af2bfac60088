import { compileConstraint, type Constraint } from './constraint.ts'
import { type Context, textOf } from './context.ts'
import type { SegmentInput, SegmentOperator } from './flag.ts'

/** A segment ready to be asked. `faulty`: it holds a constraint of unknown type, so it cannot be asked. */
export type Segment = {
  readonly key: string
  readonly all: boolean
  readonly constraints: readonly Constraint[]
  readonly faulty: boolean
}

/** Holds when at least `needed` of the segments match. `keys` are the keys of all of them. */
export type Condition = {
  readonly segments: readonly Segment[]
  readonly keys: readonly string[]
  readonly needed: number
  readonly faulty: boolean
}

/** Reads a segment once, for all the flags that name it. */
export const compileSegment = ({ key, matchType, constraints }: SegmentInput): Segment => {
  const read = constraints.map(compileConstraint)
  const known = read.filter((constraint) => constraint !== undefined)
  return { key, all: matchType === 'all' || constraints.length === 0, constraints: known, faulty: known.length < read.length }
}

/** Finds the segments of a rule or rollout by their keys. One that is not there matches nobody. */
export const compileCondition = (keys: readonly string[], operator: SegmentOperator, known: ReadonlyMap<string, Segment>): Condition => {
  const segments = keys.map((key) => known.get(key) ?? { key, all: false, constraints: [], faulty: false })
  const needed = operator === 'and' ? Math.max(1, keys.length) : 1
  return { segments, keys, needed, faulty: segments.some(({ faulty }) => faulty) }
}

/** Whether a constraint holds for an entity. */
export const holds = ({ property, holds: test }: Constraint, entityId: string, context: Context): boolean =>
  test(property === undefined ? entityId : textOf(context, property))

const matches = ({ all, constraints }: Segment, entityId: string, context: Context): boolean => {
  for (const constraint of constraints) if (holds(constraint, entityId, context) !== all) return !all
  return all
}

/** Keys of the matching segments, in the condition's order; undefined when the condition does not hold. */
export const matching = ({ segments, keys, needed }: Condition, entityId: string, context: Context): readonly string[] | undefined => {
  if (segments.length === 1) return matches(segments[0]!, entityId, context) ? keys : undefined
  const found = segmentsMatching(segments, entityId, context)
  return found.length < needed ? undefined : found
}

/** Keys of those segments that match. */
export const segmentsMatching = (segments: readonly Segment[], entityId: string, context: Context): readonly string[] => {
  const found: string[] = []
  for (const segment of segments) if (matches(segment, entityId, context)) found.push(segment.key)
  return found
}
