import { useSession } from './session.tsx'
import { past } from './words/past.ts'
import { states } from './words/common.ts'

/** Why nothing can be written here now; undefined where it can. `at` is the moment that the page shows. */
export const useWhyNot = (at: string | undefined): string | undefined => {
  const { service } = useSession()
  if (at !== undefined) return past.why
  return service.readOnly ? states.readOnlyWhy : undefined
}
