import type { Match } from './views.ts'

/** Conditions on the top-level fields of a document, one per field. */
export type Where = Readonly<Record<string, Match>>

const fits = (value: string | undefined, match: Match): boolean => {
  if ('equals' in match) return match.equals.includes(value)
  if ('prefix' in match) return value?.startsWith(match.prefix) ?? false
  if (value === undefined) return match.orAbsent ?? false
  return (match.from === undefined || value >= match.from) && (match.below === undefined || value < match.below)
}

/** True if a document meets the conditions, with the semantics of views. For documents outside a view. */
export const meets = (doc: object, where: Where): boolean => {
  for (const field in where)
    if (!fits((doc as Readonly<Record<string, string | undefined>>)[field], where[field]!)) return false
  return true
}
