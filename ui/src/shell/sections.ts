import { holds, useAccess } from '../api/access.ts'
import type { Entry } from '../page-definition.ts'

/**
 * Returns a predicate: whether the signed-in identity has any right in a section. The predicate returns true while
 * rights are not known (ui.md §2.5).
 */
export const useIsOpenTo = (): ((entry: Entry) => boolean) => {
  const { access } = useAccess()
  return ({ needs }) => !access || needs.length === 0 || needs.some((one) => holds(access, one))
}
