import { EVERY, holds, type Needed, useAccess } from '../api/access.ts'

const anyOf = (thing: string, ...acts: readonly string[]): readonly Needed[] =>
  acts.map((act) => ({ right: `${thing}.${act}` }))
const allOf = (thing: string) => anyOf(thing, 'read', 'create', 'update', 'delete')

/** Rights by section route; any one of them opens the section. A section that is not listed is open to everyone. */
const neededIn: Readonly<Record<string, readonly Needed[]>> = {
  '/ns/$ns/flags': allOf('flag'),
  '/ns/$ns/segments': allOf('segment'),
  '/ns/$ns/evaluate': anyOf('flag', 'evaluate'),
  '/settings/tokens': anyOf('token', 'read', 'create', 'revoke'),
  '/settings/sessions': [{ right: 'token.read', namespaceKey: EVERY }],
  '/settings/namespaces': allOf('namespace'),
}

/**
 * Returns a predicate: whether the signed-in identity has any right in a section. It returns true while rights are not
 * known (ui.md §2.5).
 */
export const useIsOpenTo = (): ((route: string) => boolean) => {
  const { access } = useAccess()
  return (route) => {
    const needed = neededIn[route]
    return !access || !needed || needed.some((one) => holds(access, one))
  }
}
