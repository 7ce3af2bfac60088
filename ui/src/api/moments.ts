import { storeOf } from '../store.ts'

/** Moment of the past, taken from answer headers: its position, and its instant if known. */
type KnownMoment = { readonly position: string; readonly instant: string | undefined }

const known = storeOf<ReadonlyMap<string, KnownMoment>>(new Map())

/** Stores the position and instant of an answer under the `at` of its request. A stored moment never changes. */
export const noteMoment = (path: string, headers: Headers): void => {
  const position = headers.get('as-of-position')
  const at = new URLSearchParams(path.slice(path.indexOf('?') + 1)).get('at')
  if (position === null || at === null || known.get().has(at)) return
  known.set(new Map(known.get()).set(at, { position, instant: headers.get('as-of-time') ?? undefined }))
}

/** Position and instant of a moment; undefined before the first answer for it. */
export const knownMoment = (at: string): KnownMoment | undefined => known.get().get(at)

/** Returns the position and instant of a moment; undefined before the first answer for it. */
export const useKnownMoment = (at: string | undefined): KnownMoment | undefined => known.use().get(at ?? '')
