import type { flagQuery } from '../../contract/flags/flag.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { type FlagDoc, usesOf } from '../../projections/flags.ts'

const HOUR_MS = 3_600_000

type Filters = Pick<
  ReadBy<typeof flagQuery>,
  'type' | 'enabled' | 'segmentKey' | 'evaluatedSince' | 'notEvaluatedSince'
>

/** True if an evaluation in this hour may have been at or after the instant. */
const isSince = (hour: string | undefined, instant: string): boolean =>
  hour !== undefined && Date.parse(hour) + HOUR_MS > Date.parse(instant)

/**
 * Filter of a list of flags (api.md §7.7), given a flag and the hour of its last evaluation; undefined if it keeps all
 * flags.
 */
export const flagFilter = ({ type, enabled, segmentKey, evaluatedSince, notEvaluatedSince }: Filters) => {
  const isAny = [type, enabled, evaluatedSince, notEvaluatedSince].every((filter) => filter === undefined)
  if (isAny && segmentKey === '') return undefined
  return (doc: FlagDoc, hour: string | undefined): boolean =>
    (type === undefined || doc.type === type) &&
    (enabled === undefined || doc.enabled === enabled) &&
    (segmentKey === '' || usesOf(doc, segmentKey).length > 0) &&
    (evaluatedSince === undefined || isSince(hour, evaluatedSince)) &&
    (notEvaluatedSince === undefined || !isSince(hour, notEvaluatedSince))
}
