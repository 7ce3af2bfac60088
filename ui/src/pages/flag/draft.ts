import type { Loaded, Rollout } from '../../api/flags.ts'
import { type MetadataRow, rowsOf } from './metadata.ts'

export type RolloutDraft = {
  /** The id at the service, or what a new one is called until it has one. */
  readonly id: string
  readonly kind: 'threshold' | 'segment'
  /** As it was typed. */
  readonly percentage: string
  readonly segments: readonly string[]
  readonly match: 'any' | 'all'
  readonly value: boolean
  readonly description: string
}

/** A flag as a person edits it; nothing of it is sent before it is saved. */
export type Draft = {
  /** The flag answers true or false, and no variants. */
  readonly boolean: boolean
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly metadata: readonly MetadataRow[]
  readonly rollouts: readonly RolloutDraft[]
}

const rolloutDraft = ({ id, description, threshold, segment }: Rollout): RolloutDraft => {
  const { segmentKey = '', segmentKeys = [], segmentOperator, value = false } = segment ?? {}
  return {
    id,
    kind: threshold ? 'threshold' : 'segment',
    percentage: String(threshold?.percentage ?? 50),
    segments: segmentKey === '' ? segmentKeys : [segmentKey],
    match: segmentOperator === 'AND_SEGMENT_OPERATOR' ? 'all' : 'any',
    value: threshold?.value ?? value,
    description,
  }
}

/** The draft that changes nothing. */
export const draftOf = ({ flag: { type, name, description, enabled, metadata }, rollouts }: Loaded): Draft => ({
  boolean: type === 'BOOLEAN_FLAG_TYPE',
  name,
  description,
  enabled,
  metadata: rowsOf(metadata),
  rollouts: rollouts.map(rolloutDraft),
})

/** A rollout that is not saved yet, called as no other is. */
export const freshRollout = (n: number): RolloutDraft => ({
  id: `new-${n}`,
  kind: 'threshold',
  percentage: '50',
  segments: [],
  match: 'any',
  value: true,
  description: '',
})

/** A list in which one item has gone from one place to another. */
export const moved = <T>(items: readonly T[], from: number, to: number): readonly T[] => {
  const rest = items.toSpliced(from, 1)
  return rest.toSpliced(to, 0, items[from]!)
}
