import type { IncomingHttpHeaders } from 'node:http'
import { refuse } from '../../errors.ts'

/** What clients of the family say in a header of their own word, `x-<word>-namespace` and its like, whatever the service is called. */
const KINDS = ['namespace', 'accept-server-version', 'environment'] as const
type HeaderFamily = (typeof KINDS)[number]

const NAME = new RegExp(`^x-[a-z][a-z0-9_]*-(${KINDS.join('|')})$`)

/** The kind of a header by its name in lower case; undefined where it is none of the family. */
const kindOf = (name: string): HeaderFamily | undefined => NAME.exec(name)?.[1] as HeaderFamily | undefined

/** The headers of a kind that a request has under any word, those without a value left out. */
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
 * The namespace that a request means: that of our own header or, where this one is absent, of one under any other word.
 * Undefined where none names any. Refuses two that disagree with 400 `invalid_header`: the answer would be another namespace's.
 */
export const namespaceOf = (headers: IncomingHttpHeaders, own: string): string | undefined => {
  const given = headers[own]
  if (given !== undefined) return typeof given === 'string' && given !== '' ? given : undefined
  const [first, ...others] = underAnyWord(headers, 'namespace')
  const other = others.find(([, value]) => value !== first![1])
  if (other) refuse('invalid_header', `invalid header ${first![0]}: names another namespace than ${other[0]}`)
  return first?.[1]
}

/** The headers that a preflight asks for and that stand for one of those allowed, under another word. */
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
