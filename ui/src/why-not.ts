import { useReach } from './api/reach.ts'
import { useSession } from './session.tsx'
import { past } from './words/past.ts'
import { states } from './words/common.ts'

/** Why nothing can be written here now; undefined where it can. `at` is the moment that the page shows. */
export const useWhyNot = (at: string | undefined): string | undefined => {
  const { service } = useSession()
  const reach = useReach()
  if (at !== undefined) return past.why
  if (service.readOnly) return states.readOnlyWhy
  return { reached: undefined, away: states.offlineWhy, stale: states.stale }[reach]
}
