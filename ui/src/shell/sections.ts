import { placesOf, useAccess } from '../api/access.ts'

const allOf = (thing: 'flag' | 'segment' | 'namespace'): readonly string[] =>
  ['read', 'create', 'update', 'delete'].map((act) => `${thing}.${act}`)
const ofTokens = ['token.read', 'token.create', 'token.revoke']

/** The rights that have to do with each section, by its route; those of a section that is not here everybody has. */
const rightsOf: Readonly<Record<string, readonly string[]>> = {
  '/ns/$ns/flags': allOf('flag'),
  '/ns/$ns/segments': allOf('segment'),
  '/ns/$ns/evaluate': ['flag.evaluate'],
  '/settings/tokens': ofTokens,
  '/settings/sessions': ofTokens,
  '/settings/namespaces': allOf('namespace'),
}

/** Tells of a section by its route whether who is signed in may do anything there; it may be so as long as that is not known (ui.md §2.5). */
export const useIsOpenTo = (): ((route: string) => boolean) => {
  const { access } = useAccess()
  return (route) => {
    const rights = rightsOf[route]
    return !access || !rights || rights.some((right) => placesOf(access, right).length > 0)
  }
}
