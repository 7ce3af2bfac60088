import { useSyncExternalStore } from 'react'

/** State of the service: it answers, it does not answer, or it cannot prove that its data is current. */
type Reach = 'reached' | 'away' | 'stale'

let present: Reach = 'reached'
const listeners = new Set<() => void>()

/** Stores the state that the last request showed, and notifies subscribers. */
export const noteReach = (next: Reach): void => {
  if (next === present) return
  present = next
  for (const listener of listeners) listener()
}

export const useReach = (): Reach =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => present,
  )
