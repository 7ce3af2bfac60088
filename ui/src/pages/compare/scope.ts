import type { Compared } from '../../api/differences.ts'
import { searchFlags } from '../../api/flags.ts'
import { searchSegments } from '../../api/segments.ts'
import { streamOf, thingOf } from '../../links.ts'
import { lastNamespace } from '../../preferences.ts'
import { compare as words } from '../../words/compare.ts'

/** Subject of a comparison in the address. */
type Search = { readonly stream?: string | undefined; readonly ns?: string | undefined }

/** Subject of the comparison, and the namespace whose flags and segments the picker offers. */
export type Scope = { readonly of: Compared; readonly stream: string | undefined; readonly namespace: string }

export const scopeOf = ({ stream, ns }: Search): Scope => {
  const namespace = (stream === undefined ? ns : thingOf(stream)?.namespace) ?? lastNamespace()
  return { of: stream === undefined ? { namespaceKey: namespace } : { stream }, stream, namespace }
}

/** Names a stream: `flag checkout`. */
export const streamWords = (stream: string): string => {
  const thing = thingOf(stream)
  if (thing) return words.thing(thing.kind, thing.key)
  const hyphen = stream.indexOf('-')
  return hyphen < 0 ? stream : words.thing(stream.slice(0, hyphen), stream.slice(hyphen + 1))
}

/** Stream of a name that the picker offers. */
export const streamNamed = (name: string, namespace: string): string => {
  const space = name.indexOf(' ')
  return streamOf({ kind: name.slice(0, space) as 'flag' | 'segment', namespace, key: name.slice(space + 1) })
}

const FOUND = 10

/** Searches the flags and segments of a namespace at each of these moments, by the names that the picker offers. */
export const searchThings = async (
  namespace: string,
  moments: readonly (string | undefined)[],
  typed: string,
  signal: AbortSignal,
): Promise<readonly { readonly key: string; readonly name: string }[]> => {
  const q = typed.replace(/^(?:flag|segment) /, '')
  const pages = await Promise.all(
    moments.map(async (at) => {
      const asked = { q, at, limit: FOUND }
      const [{ flags }, { segments }] = await Promise.all([
        searchFlags(namespace, asked, signal),
        searchSegments(namespace, q, signal, { at, limit: FOUND }),
      ])
      return [
        ...flags.map(({ key, name }) => ({ key: words.thing('flag', key), name })),
        ...segments.map(({ key, name }) => ({ key: words.thing('segment', key), name })),
      ]
    }),
  )
  return pages.flat()
}
