import { EVERY, holds, type Needed, useAccess } from '../api/access.ts'

const anyOf = (thing: string, ...acts: readonly string[]): readonly Needed[] =>
  acts.map((act) => ({ right: `${thing}.${act}` }))
const allOf = (thing: string) => anyOf(thing, 'read', 'create', 'update', 'delete')

/** What there is to do in each section, by its route; to a section that is not here everybody comes. */
const neededIn: Readonly<Record<string, readonly Needed[]>> = {
  '/ns/$ns/flags': allOf('flag'),
  '/ns/$ns/segments': allOf('segment'),
  '/ns/$ns/evaluate': anyOf('flag', 'evaluate'),
  '/settings/tokens': anyOf('token', 'read', 'create', 'revoke'),
  '/settings/sessions': [{ right: 'token.read', namespaceKey: EVERY }],
  '/settings/namespaces': allOf('namespace'),
}

/** Tells of a section by its route whether who is signed in may do anything there; it may be so as long as that is not known (ui.md §2.5). */
export const useIsOpenTo = (): ((route: string) => boolean) => {
  const { access } = useAccess()
  return (route) => {
    const needed = neededIn[route]
    return !access || !needed || needed.some((one) => holds(access, one))
  }
}
