import { Type } from 'typebox'
import { named, pageFields, type Shown, Text, times } from './answer.ts'
import { Constraint } from './constraint.ts'
import { matchTypes } from './enums.ts'
import { input } from './input.ts'
import { description, key, name } from './resource.ts'

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
export const SegmentList = named('SegmentList', { segments: Type.Array(Segment), ...pageFields })

export const segmentOwnFields = { name, description, matchType: matchTypes.field('all') }
/** Bodies of a new segment, and of one that is replaced. */
export const newSegment = input({ key, ...segmentOwnFields }, 'NewSegment')
export const segmentUpdate = input(segmentOwnFields, 'SegmentUpdate')
