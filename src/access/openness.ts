import type { Right } from './rights.ts'

/** Settings that decide which requests need no credential. */
export type Openness = {
  readonly required: boolean
  readonly exclude: { readonly management: boolean; readonly evaluation: boolean; readonly ofrep: boolean }
}

/** For each group of routes, true if it admits a request without a credential (api.md §3.2). */
export const openGroups = ({ required, exclude }: Openness) => ({
  required: !required,
  management: !required || exclude.management,
  evaluation: !required || exclude.evaluation,
  ofrep: !required || exclude.ofrep,
})

/** True if a right needs no credential: on every route, or on those of a group. */
export const isOpenFor = (right: Right, settings: Openness): boolean => {
  const open = openGroups(settings)
  if (right === 'flag.snapshot') return open.evaluation
  if (right === 'flag.evaluate') return open.evaluation || open.ofrep || open.management
  return /^(?:flag|segment|namespace|history)\./.test(right) ? open.management : open.required
}
