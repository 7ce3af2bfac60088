import { useSyncExternalStore } from 'react'

/** Whether the service answers: it does, it does not, or it is checking itself. */
export type Reach = 'reached' | 'away' | 'stale'

let present: Reach = 'reached'
const listeners = new Set<() => void>()

/** Takes note of what the last request told about the service. */
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
