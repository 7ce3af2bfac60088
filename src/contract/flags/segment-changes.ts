import { Type } from 'typebox'
import { named, type Shown, Text, TextMap } from '../answer.ts'
import { type ChangeOf, changesOf, id, kind, partly, ref } from '../readers/changes.ts'
import type { ReadOf } from '../readers/input.ts'
import { constraintFields } from './constraint.ts'
import { Segment, segmentOwnFields } from './segment.ts'
import { SegmentMatch } from './segment-match.ts'

type ConstraintRead = ReadOf<typeof constraintFields>

const kindsOf = <T>(check: (read: ConstraintRead) => T) => ({
  'segment.update': kind(partly(segmentOwnFields)),
  'constraint.create': kind({ ref, ...constraintFields }, ({ ref, ...read }) => ({ ref, constraint: check(read) })),
  'constraint.update': kind({ id, ...partly(constraintFields) }),
  'constraint.delete': kind({ id }),
})

/**
 * Changes of a segment and its constraints. Absent fields of an update stay unchanged (api.md §7.9). `check` refuses an
 * invalid new constraint.
 */
export const segmentChanges = <T>(check: (read: ConstraintRead) => T) => changesOf(kindsOf(check), 'SegmentChange')
export type SegmentChangeAsked<T> = ChangeOf<ReturnType<typeof kindsOf<T>>>

/**
 * The segment after the changes, and the id of each constraint that was created with a reference. A dry run adds the
 * present revision, and the matches of its entity.
 */
export const ChangedSegment = named('ChangedSegment', {
  segment: Segment,
  refs: TextMap,
  revision: Type.Optional(Text),
  evaluations: Type.Optional(named('TrialMatches', { present: SegmentMatch, changed: SegmentMatch })),
})
export type ChangedSegment = Shown<typeof ChangedSegment>
