import { type Constraint, compileConstraint } from './constraint.ts'
import { type Context, textOf } from './context.ts'
import type { SegmentInput, SegmentOperator } from './flag.ts'
import type { Readings } from './readings.ts'

/** A compiled segment. `faulty`: it holds a constraint of unknown type, so it cannot be evaluated. */
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

const read = new WeakMap<SegmentInput, Segment>()

/** Reads a segment once for all the flags that name it: the same document gives the same segment. */
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

/** The condition of a rule or rollout; `find` gives the segments it names. One that is not there matches nobody. */
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

/** Work of one evaluation, in characters looked at: some tens of milliseconds, whatever the constraints and the texts. */
const MOST_WORK = 2_097_152
/** The same of all evaluations of one request together. */
const MOST_WORK_TOGETHER = 16 * MOST_WORK
/** What a constraint costs beside the characters of the value. */
const CONSTRAINT_WORK = 32
/** Characters of a value from which on it is read once for all constraints. Below, that would cost more than it saves. */
const LONG = 256

/** What was read of long values, by the property; undefined stands for the entity's id. */
type Known = Map<string | undefined, Readings>

/** The work left for the evaluations of one request, which may share what they read where they ask about the same entity. What the last of them did is taken off as the next begins. */
export type Work = { left: number; last?: Subject | undefined; mayOfLast?: number; readonly known?: Known | undefined }

export const workTogether = (): Work => ({ left: MOST_WORK_TOGETHER })
/** The same for evaluations which all ask about one entity in one context. */
export const workOnOne = (): Work => ({ left: MOST_WORK_TOGETHER, known: new Map() })

/** The entity of one evaluation and the work that is left of what it may do. Below 0 the result must not be used. */
export type Subject = {
  readonly entityId: string
  readonly context: Context
  left: number
  known?: Known | undefined
}

/** What is left for further evaluations. */
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

/** Whether a constraint holds for an entity; never, once the work is spent. */
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

/** Keys of the matching segments, in the condition's order; undefined when the condition does not hold. */
export const matching = ({ segments, keys, needed }: Condition, subject: Subject): readonly string[] | undefined => {
  if (segments.length === 1) return matches(segments[0]!, subject) ? keys : undefined
  const found = segmentsMatching(segments, subject)
  return found.length < needed ? undefined : found
}

/** Keys of those segments that match. */
export const segmentsMatching = (segments: readonly Segment[], subject: Subject): readonly string[] => {
  const found: string[] = []
  for (const segment of segments) {
    subject.left--
    if (matches(segment, subject)) found.push(segment.key)
    if (subject.left < 0) break
  }
  return found
}
