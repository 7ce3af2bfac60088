import { Type } from 'typebox'
import { changedFields, named, pageFields, type Shown, Text, times } from '../answer.ts'
import { matchTypes } from '../enums.ts'
import { choice, optional } from '../readers/fields.ts'
import { input, query } from '../readers/input.ts'
import { description, key, name, searched } from '../resource.ts'
import { Constraint } from './constraint.ts'

/** A segment with its constraints (api.md §7.2). */
export const Segment = named('Segment', {
  key: Text,
  namespaceKey: Text,
  name: Text,
  description: Text,
  matchType: Type.Enum(matchTypes.names),
  constraints: Type.Array(Constraint),
  ...times,
})
export type Segment = Shown<typeof Segment>
/**
 * A segment in a list. With `include=usage` the item also contains the number of flags that use the segment, and the
 * last change of the segment.
 */
export const ListedSegment = named('ListedSegment', {
  ...Segment.properties,
  ...changedFields,
  usageCount: Type.Optional(Type.Integer()),
})
export type ListedSegment = Shown<typeof ListedSegment>
export const SegmentList = named('SegmentList', { segments: Type.Array(ListedSegment), ...pageFields })

export const segmentOwnFields = { name, description, matchType: matchTypes.field('all') }
/** Bodies that create and replace a segment. */
export const newSegment = input({ key, ...segmentOwnFields }, 'NewSegment')
export const segmentUpdate = input(segmentOwnFields, 'SegmentUpdate')

/** Query of the list of segments (api.md §7.7). */
export const segmentQuery = query({ ...searched, include: optional(choice({ usage: 0 })) })
