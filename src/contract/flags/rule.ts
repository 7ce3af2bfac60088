import { Type } from 'typebox'
import { Int32, named, pageFields, type Shown, Text, times } from '../answer.ts'
import { input } from '../readers/input.ts'
import { Distribution } from './distribution.ts'
import { bySegments, ids, rank, segmentFields } from './rule-fields.ts'

/** A rule of a variant flag (api.md §7.2). */
export const Rule = named('Rule', {
  id: Text,
  flagKey: Text,
  namespaceKey: Text,
  ...bySegments,
  rank: Int32,
  distributions: Type.Array(Distribution),
  ...times,
})
export type Rule = Shown<typeof Rule>
export const RuleList = named('RuleList', { rules: Type.Array(Rule), ...pageFields })
export type RuleList = Shown<typeof RuleList>

/** Bodies that create, replace and reorder rules. */
export const newRule = input({ ...segmentFields, rank }, 'NewRule')
export const ruleUpdate = input(segmentFields, 'RuleUpdate')
export const ruleOrder = input({ ruleIds: ids }, 'RuleOrder')
