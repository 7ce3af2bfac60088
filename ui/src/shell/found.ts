import { useQuery } from '@tanstack/react-query'
import { searchFlags } from '../api/flags.ts'
import { keys } from '../api/keys.ts'
import { searchSegments } from '../api/segments.ts'
import { nameOf, readTokens } from '../api/tokens.ts'
import { useAt } from '../at.ts'
import { toFlag, toSegment } from '../links.ts'
import { useSettled } from '../parts/lists/settled.ts'
import { lastNamespace } from '../preferences.ts'
import { palette as words } from '../words/palette.ts'
import { type Command, useGo } from './commands.ts'

const limit = 5
type Named = { readonly key: string; readonly name: string }

/**
 * Searches when the text is not empty and keeps the previous results until the next arrive. For a past moment the
 * searches run one after another, because the service limits concurrent past reads per client.
 */
const useSearched = <T>(
  of: readonly string[],
  asked: string,
  read: (signal: AbortSignal) => Promise<readonly T[]>,
  after?: { readonly isFetching: boolean },
) => {
  const at = useAt()
  const { data, isFetching, isError } = useQuery({
    queryKey: [...of, 'palette', at ?? '', asked],
    queryFn: ({ signal }) => read(signal),
    enabled: asked !== '' && (at === undefined || !after?.isFetching),
    placeholderData: (before) => before,
  })
  return { found: asked === '' ? [] : (data ?? []), isFetching, isError }
}

/** Searches flags, segments and tokens; returns the results and the state of the search. */
export const useFound = (typed: string) => {
  const wanted = typed.trim()
  const asked = useSettled(wanted)
  const at = useAt()
  const ns = lastNamespace()
  const go = useGo()
  const readFlags = async (signal: AbortSignal) => (await searchFlags(ns, { q: asked, at, limit }, signal)).flags
  const readSegments = async (signal: AbortSignal) => (await searchSegments(ns, asked, signal, { at, limit })).segments
  const readStatic = async (signal: AbortSignal) =>
    (await readTokens({ kind: 'static', q: asked, at, limit }, signal)).authentications
  const flags = useSearched(keys.flags(ns), asked, readFlags)
  const segments = useSearched(keys.segments(ns), asked, readSegments, flags)
  const waited = { isFetching: flags.isFetching || segments.isFetching }
  const tokens = useSearched(keys.tokens, asked, readStatic, waited)
  const named = (group: string, placeOf: typeof toFlag | typeof toSegment, all: readonly Named[]) =>
    all.flatMap(({ key, name }) => {
      const place = placeOf(ns, key)
      return go({ id: place.to + key, group, words: name, detail: key }, place) ?? []
    })
  const commands: readonly Command[] = [
    ...named(words.flags, toFlag, flags.found),
    ...named(words.segments, toSegment, segments.found),
    ...tokens.found.flatMap((record) => {
      const { id } = record
      const of = { id, group: words.tokens, words: nameOf(record) }
      return go(of, { to: '/settings/tokens/$id', params: { id } }) ?? []
    }),
  ]
  const searches = [flags, segments, tokens]
  return {
    commands: wanted === '' ? [] : commands,
    searching: wanted !== asked || searches.some(({ isFetching }) => isFetching),
    failed: wanted !== '' && searches.some(({ isError }) => isError),
  }
}
