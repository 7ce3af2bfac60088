import { holds, type Needed, useAccess } from './api/access.ts'
import { useReach } from './api/reach.ts'
import { useSession } from './session.tsx'
import { states } from './words/common.ts'
import { past } from './words/past.ts'

/**
 * Returns a function that describes the first missing right; it returns undefined if none is missing or rights are not
 * known yet (ui.md §2.5).
 */
export const useMissing = (): ((...needed: readonly Needed[]) => string | undefined) => {
  const { access } = useAccess()
  return (...needed) => {
    const missing = access && needed.find((one) => !holds(access, one))
    return missing && states.missing(missing)
  }
}

/**
 * Returns why the user cannot write now; undefined if they can. `at` is the moment that the page shows, `needed` the
 * rights that the action needs.
 */
export const useWhyNot = (at: string | undefined, ...needed: readonly Needed[]): string | undefined => {
  const { service } = useSession()
  const reach = useReach()
  const missing = useMissing()
  if (at !== undefined) return past.why
  if (service.readOnly) return states.readOnlyWhy
  return { reached: undefined, away: states.offlineWhy, stale: states.stale }[reach] ?? missing(...needed)
}
