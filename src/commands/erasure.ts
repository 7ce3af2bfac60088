import { reader } from '../events/define.ts'
import { destroyed, type ErasureEvent, type ErasureProgress, erasureEvents, requested } from '../events/erasure.ts'
import type { Decider } from './decider.ts'

type Keys = { readonly subject: string; readonly keys: readonly string[] }
type ErasureCommands = {
  RequestErasure: Keys & { readonly reason: string }
  CompleteErasure: Keys
}

/** Maximum number of keys in one event, so that no event becomes too large for a store. */
const TOGETHER = 1_000

/** The keys in groups for one event each; one empty group if there are no keys. */
const groups = (keys: readonly string[]): readonly (readonly string[])[] => {
  const all: (readonly string[])[] = []
  for (let n = 0; n === 0 || n < keys.length; n += TOGETHER) all.push(keys.slice(n, n + TOGETHER))
  return all
}

/**
 * Decider of the erasure of one subject. A repeated request only adds keys that were not requested before. A completion
 * states only keys that were requested.
 */
export const erasure: Decider<ErasureProgress | undefined, ErasureCommands, ErasureEvent> = {
  category: 'keys',
  shapes: erasureEvents,
  read: reader(erasureEvents),
  initial: undefined,
  exists: (progress) => progress !== undefined,
  decide: {
    RequestErasure: (progress, { subject, keys, reason }) => {
      const known = new Set(progress?.keys)
      const fresh = keys.filter((key) => !known.has(key))
      if (progress && fresh.length === 0) return []
      return groups(fresh).map((keys) => ({
        type: 'SubjectErasureRequested',
        data: { subject, keys: [...keys], reason },
      }))
    },
    CompleteErasure: (progress, { subject, keys }) => {
      if (progress?.left === undefined) return []
      const gone = new Set(keys)
      const done = progress.left.filter((key) => gone.has(key))
      if (done.length === 0 && progress.left.length > 0) return []
      return groups(done).map((keys) => ({ type: 'SubjectErased', data: { subject, keys: [...keys] } }))
    },
  },
  evolve: {
    SubjectErasureRequested: (progress, { keys }) => requested(progress, keys),
    SubjectErased: (progress, { keys }) => destroyed(progress, keys),
  },
}
