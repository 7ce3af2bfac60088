import type { QueryClient } from '@tanstack/react-query'
import type { HistoryEvents } from '../../../src/contract/history/events.ts'
import { isPosition } from '../at.ts'
import { knownMoment } from './moments.ts'
import { readNamespaces } from './namespaces.ts'
import { query, request } from './request.ts'

/** Direction of a step in the history. */
export type Direction = 'previous' | 'next'

/** Pages that one step reads at most. A page may hold no event and yet have a successor. */
const PAGES = 20

/**
 * Resolves once the page reads nothing. A step waits for it, because the service limits the reads of the past that one
 * user has at once.
 */
export const atRest = (client: QueryClient): Promise<void> =>
  new Promise((done) => {
    if (client.isFetching() === 0) return done()
    const stop = client.getQueryCache().subscribe(() => {
      if (client.isFetching() > 0) return
      stop()
      done()
    })
  })

/** Position of a moment. The position of an instant comes from the answer to a read of it. */
const positionOf = async (at: string): Promise<bigint> => {
  if (isPosition(at)) return BigInt(at)
  if (!knownMoment(at)) await readNamespaces({ limit: 1, at })
  return BigInt(knownMoment(at)?.position ?? 0)
}

/**
 * Position of the event before or after a moment, among the events of these filters; undefined if there is none. An
 * event at an instant itself is before it. Without a moment, the previous event is the newest one.
 */
export const readStep = async (
  direction: Direction,
  at: string | undefined,
  scope: Readonly<Record<string, string>>,
): Promise<string | undefined> => {
  if (at === undefined && direction === 'next') return undefined
  const here = at === undefined ? undefined : await positionOf(at)
  const order = direction === 'next' ? 'asc' : 'desc'
  const bound =
    here === undefined
      ? {}
      : direction === 'next'
        ? { after: String(here) }
        : { before: String(isPosition(at ?? '') ? here : here + 1n) }
  let pageToken: string | undefined
  for (let page = 0; page < PAGES && pageToken !== ''; page++) {
    const asked: string = query({ ...scope, ...bound, order, limit: 1, pageToken })
    const { value } = await request<HistoryEvents>(`audit/v1/events${asked}`)
    const [event] = value.events
    if (event) return event.position
    pageToken = value.nextPageToken
  }
  return undefined
}
