import type { HistoryEvent } from '../../api/history.ts'
import { toFlag, toSegment } from '../../links.ts'
import { lastNamespace } from '../../preferences.ts'

/** Categories of the streams whose states can be compared (history.md §4.8). */
const COMPARED: ReadonlySet<string> = new Set(['flag', 'segment', 'namespace', 'token'])

export const isCompared = ({ category }: HistoryEvent): boolean => COMPARED.has(category)

/** Position before that of an event. */
export const positionBefore = ({ position }: HistoryEvent): string => String(BigInt(position) - 1n)

/** Part of a stream after its category. */
const rest = ({ stream, category }: HistoryEvent): string => stream.slice(category.length + 1)

/** Link to the page of the resource that an event changed; to the flags of the namespace if it has no page. */
export const toSubjectOf = (event: HistoryEvent) => {
  const { category, namespace } = event
  const key = rest(event).slice((namespace?.length ?? 0) + 1)
  if (category === 'flag' && namespace !== undefined) return toFlag(namespace, key)
  if (category === 'segment' && namespace !== undefined) return toSegment(namespace, key)
  if (category === 'token') return toToken(rest(event), event.method ?? 'token')
  const ns = namespace === undefined || namespace === '*' ? lastNamespace() : namespace
  return { to: '/ns/$ns/flags', params: { ns } } as const
}

/** Link to the record of a token or session. */
export const toToken = (id: string, method: string) =>
  ({ to: method === 'token' ? '/settings/tokens/$id' : '/settings/sessions/$id', params: { id } }) as const
