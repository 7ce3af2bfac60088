import { useSyncExternalStore } from 'react'

/** Moment of the past, taken from answer headers: its position, and its instant if known. */
type KnownMoment = { readonly position: string; readonly instant: string | undefined }

const known = new Map<string, KnownMoment>()
const listeners = new Set<() => void>()

/** Stores the position and instant of an answer under the `at` of its request. A stored moment never changes. */
export const noteMoment = (path: string, headers: Headers): void => {
  const position = headers.get('as-of-position')
  const at = new URLSearchParams(path.slice(path.indexOf('?') + 1)).get('at')
  if (position === null || at === null || known.has(at)) return
  known.set(at, { position, instant: headers.get('as-of-time') ?? undefined })
  for (const listener of listeners) listener()
}

/** Position and instant of a moment; undefined before the first answer for it. */
export const knownMoment = (at: string): KnownMoment | undefined => known.get(at)

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
/** Returns the position and instant of a moment; undefined before the first answer for it. */
export const useKnownMoment = (at: string | undefined): KnownMoment | undefined =>
  useSyncExternalStore(subscribe, () => (at === undefined ? undefined : known.get(at)))
