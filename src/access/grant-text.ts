import { EVERYWHERE, type Grant, isKey } from './grants.ts'
import { isRight, RIGHTS } from './rights.ts'

/** A parsed grant, or the error in its text. */
export type Read = { readonly grant: Grant } | { readonly wrong: string }

const parts = (text: string): { readonly what: string; readonly place: string } | undefined => {
  const at = text.indexOf('@')
  return at > 0 ? { what: text.slice(0, at), place: text.slice(at + 1) } : undefined
}

const wrongPlace = (place: string, others: readonly string[]): string | undefined => {
  if (place === '') return 'has no namespace after @: write a namespace key, or * for all namespaces'
  return [EVERYWHERE, ...others].includes(place) || isKey(place)
    ? undefined
    : `"${place}" is neither a namespace key nor *`
}

/**
 * Parses a grant of a role: `editor@shop` or `viewer@*`. After the `@` a namespace key, `*` or one of the texts in
 * `others` is valid. Does not check that the role exists.
 */
export const readGrant = (text: string, others: readonly string[] = []): Read => {
  const given = parts(text)
  if (given === undefined) return { wrong: 'must be ROLE@PLACE, such as editor@shop or viewer@*' }
  const wrong = wrongPlace(given.place, others)
  return wrong === undefined ? { grant: { place: given.place, role: given.what } } : { wrong }
}

/** Parses a grant of rights: `flag.read,flag.update@shop`. */
export const readRights = (text: string): Read => {
  const given = parts(text)
  if (given === undefined) return { wrong: 'must be RIGHT,RIGHT@PLACE, such as flag.read,flag.update@shop' }
  const rights = [...new Set(given.what.split(',').map((right) => right.trim()))]
  const unknown = rights.find((right) => !isRight(right))
  if (unknown !== undefined) return { wrong: `unknown right "${unknown}"; known rights: ${RIGHTS.join(', ')}` }
  const wrong = wrongPlace(given.place, [])
  return wrong === undefined ? { grant: { place: given.place, rights } } : { wrong }
}
