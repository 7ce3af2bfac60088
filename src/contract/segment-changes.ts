import { named, type Shown, TextMap } from './answer.ts'
import { constraintFields } from './constraint.ts'
import { type ChangeOf, changesOf, id, kind, partly, ref } from './readers/changes.ts'
import type { ReadOf } from './readers/input.ts'
import { Segment, segmentOwnFields } from './segment.ts'

type ConstraintRead = ReadOf<typeof constraintFields>

const kindsOf = <T>(check: (read: ConstraintRead) => T) => ({
  'segment.update': kind(partly(segmentOwnFields)),
  'constraint.create': kind({ ref, ...constraintFields }, ({ ref, ...read }) => ({ ref, constraint: check(read) })),
  'constraint.update': kind({ id, ...partly(constraintFields) }),
  'constraint.delete': kind({ id }),
})

/** Changes of a segment and its constraints: what an update does not give stays as it is (api.md §7.9). `check` refuses a new constraint that cannot be. */
export const segmentChanges = <T>(check: (read: ConstraintRead) => T) => changesOf(kindsOf(check), 'SegmentChange')
export type SegmentChangeAsked<T> = ChangeOf<ReturnType<typeof kindsOf<T>>>

/** The segment as the changes left it, and the id of each constraint that was given a ref. */
export const ChangedSegment = named('ChangedSegment', { segment: Segment, refs: TextMap })
export type ChangedSegment = Shown<typeof ChangedSegment>
