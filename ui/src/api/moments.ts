import { useSyncExternalStore } from 'react'

/** A moment of the past as answers told it: its position, and its instant where one is known. */
export type KnownMoment = { readonly position: string; readonly instant: string | undefined }

const known = new Map<string, KnownMoment>()
const listeners = new Set<() => void>()

/** Takes note of the moment that an answer is of; what it was asked for stands in the path. A moment that has come never changes. */
export const noteMoment = (path: string, headers: Headers): void => {
  const position = headers.get('as-of-position')
  const at = new URLSearchParams(path.slice(path.indexOf('?') + 1)).get('at')
  if (position === null || at === null || known.has(at)) return
  known.set(at, { position, instant: headers.get('as-of-time') ?? undefined })
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
/** What is known of a moment; undefined until an answer told it. */
export const useKnownMoment = (at: string | undefined): KnownMoment | undefined =>
  useSyncExternalStore(subscribe, () => (at === undefined ? undefined : known.get(at)))
