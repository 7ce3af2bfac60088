import { type Constraint, compileConstraint, type Readings } from './constraint.ts'
import { type Context, type SegmentInput, type SegmentOperator, textOf } from './flag.ts'

/** A compiled segment. `faulty`: it has a constraint of unknown type and cannot be evaluated. */
export type Segment = {
  readonly key: string
  readonly all: boolean
  readonly constraints: readonly Constraint[]
  readonly faulty: boolean
}

/** Matches if at least `needed` of the segments match. `keys` are the keys of all segments. */
export type Condition = {
  readonly segments: readonly Segment[]
  readonly keys: readonly string[]
  readonly needed: number
  readonly faulty: boolean
}

const read = new WeakMap<SegmentInput, Segment>()

/** Compiles a segment once for all flags that use it (cached by the input object). */
const compileSegment = (input: SegmentInput): Segment => {
  const before = read.get(input)
  if (before) return before
  const { key, matchType, constraints } = input
  const known = constraints.map(compileConstraint).filter((constraint) => constraint !== undefined)
  const all = matchType === 'all' || constraints.length === 0
  const segment = { key, all, constraints: known, faulty: known.length < constraints.length }
  read.set(input, segment)
  return segment
}

/**
 * Compiles the condition of a rule or rollout. `find` returns a segment by key. A missing segment matches no entity.
 */
export const compileCondition = (
  keys: readonly string[],
  operator: SegmentOperator,
  find: (key: string) => SegmentInput | undefined,
): Condition => {
  const segments = keys.map((key) => {
    const found = find(key)
    return found ? compileSegment(found) : { key, all: false, constraints: [], faulty: false }
  })
  const needed = operator === 'and' ? Math.max(1, keys.length) : 1
  return { segments, keys, needed, faulty: segments.some(({ faulty }) => faulty) }
}

/** Maximum work of one evaluation, in characters read: some tens of ms for any constraints and texts. */
const MOST_WORK = 2_097_152
/** Maximum work of all evaluations in one request. */
const MOST_WORK_TOGETHER = 16 * MOST_WORK
/** Cost of a constraint in addition to the characters of the value. */
const CONSTRAINT_WORK = 32
/** Minimum length of a value for caching its parsed forms. The cache costs more than it saves for shorter values. */
const LONG = 256

/** Parsed forms of long values, by property; undefined stands for the entity's id. */
type Known = Map<string | undefined, Readings>

/**
 * Remaining work for the evaluations of one request. Evaluations of the same entity share parsed values. The work of
 * each evaluation is subtracted when the next one begins.
 */
export type Work = { left: number; last?: Subject | undefined; mayOfLast?: number; readonly known?: Known | undefined }

export const workTogether = (): Work => ({ left: MOST_WORK_TOGETHER })
/** The remaining work for evaluations of one entity in one context. */
export const workOnOne = (): Work => ({ left: MOST_WORK_TOGETHER, known: new Map() })

/**
 * Entity of one evaluation and its remaining work. If `left` is negative, the result of the evaluation must not be
 * used.
 */
export type Subject = {
  readonly entityId: string
  readonly context: Context
  left: number
  known?: Known | undefined
}

/** Evaluation steps that the budget of this request still allows. */
const leftOf = (work: Work): number => {
  if (work.last) work.left -= work.mayOfLast! - work.last.left
  work.last = undefined
  return work.left
}

export const subjectOf = (entityId: string, context: Context, work?: Work): Subject => {
  if (!work) return { entityId, context, left: MOST_WORK }
  const left = Math.min(MOST_WORK, leftOf(work))
  work.mayOfLast = left
  return (work.last = { entityId, context, left, known: work.known })
}

const readingsOf = (subject: Subject, property: string | undefined): Readings => {
  const known = (subject.known ??= new Map())
  const before = known.get(property)
  if (before) return before
  const readings: Readings = new Map()
  known.set(property, readings)
  return readings
}

/** Tests a constraint for an entity. Returns false if no work is left. */
export const holds = ({ property, holds: test }: Constraint, subject: Subject): boolean => {
  const value = property === undefined ? subject.entityId : textOf(subject.context, property)
  subject.left -= value.length + CONSTRAINT_WORK
  if (subject.left < 0) return false
  return test(value, value.length < LONG ? undefined : readingsOf(subject, property))
}

const matches = ({ all, constraints }: Segment, subject: Subject): boolean => {
  for (const constraint of constraints) {
    if (holds(constraint, subject) !== all) return !all
    if (subject.left < 0) return false
  }
  return all
}

/** Keys of the matching segments, in the condition's order; undefined if the condition does not match. */
export const matching = ({ segments, keys, needed }: Condition, subject: Subject): readonly string[] | undefined => {
  if (segments.length === 1) return matches(segments[0]!, subject) ? keys : undefined
  const found = segmentsMatching(segments, subject)
  return found.length < needed ? undefined : found
}

/** Keys of the matching segments. */
export const segmentsMatching = (segments: readonly Segment[], subject: Subject): readonly string[] => {
  const found: string[] = []
  for (const segment of segments) {
    subject.left--
    if (matches(segment, subject)) found.push(segment.key)
    if (subject.left < 0) break
  }
  return found
}
