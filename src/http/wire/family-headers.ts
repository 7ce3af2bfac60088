import type { IncomingHttpHeaders } from 'node:http'
import { refuse } from '../../base/errors.ts'

/** Kinds of namespace and version headers, `x-<word>-<kind>`, that clients of the family send under any word. */
const KINDS = ['namespace', 'accept-server-version', 'environment'] as const
type HeaderFamily = (typeof KINDS)[number]

const NAME = new RegExp(`^x-[a-z][a-z0-9_]*-(${KINDS.join('|')})$`)

/** Kind of a header, by its name in lower case; undefined for other headers. */
const kindOf = (name: string): HeaderFamily | undefined => NAME.exec(name)?.[1] as HeaderFamily | undefined

/** Nonempty headers of a kind in a request, under any word. */
export const underAnyWord = (
  headers: IncomingHttpHeaders,
  kind: HeaderFamily,
): readonly (readonly [string, string])[] => {
  const found: [string, string][] = []
  for (const name in headers) {
    const value = headers[name]
    if (name.endsWith(kind) && kindOf(name) === kind && typeof value === 'string' && value !== '')
      found.push([name, value])
  }
  return found
}

/**
 * Namespace of a request: from the deployment's own header or, if that is absent, from one under another word. The
 * result is undefined if no header names a namespace. Refuses two different namespaces with 400 `invalid_header`,
 * because one of them would receive the other's answer.
 */
export const namespaceOf = (headers: IncomingHttpHeaders, own: string): string | undefined => {
  const given = headers[own]
  if (given !== undefined) return typeof given === 'string' && given !== '' ? given : undefined
  const [first, ...others] = underAnyWord(headers, 'namespace')
  const other = others.find(([, value]) => value !== first![1])
  if (other) refuse('invalid_header', `invalid header ${first![0]}: names another namespace than ${other[0]}`)
  return first?.[1]
}

/** Headers requested by a preflight that are an allowed header under another word. */
export const otherWords = (asked: string | undefined, allowed: readonly string[]): readonly string[] => {
  if (asked === undefined) return []
  const kinds = new Set(allowed.map((name) => kindOf(name.toLowerCase())))
  return asked
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => {
      const kind = kindOf(name)
      return kind !== undefined && kinds.has(kind)
    })
}
