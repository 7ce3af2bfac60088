import { useSyncExternalStore } from 'react'

/** Value that outlives the components. `use` renders its caller again after each change. */
export const storeOf = <T>(first: T) => {
  let value = first
  const listeners = new Set<() => void>()
  const get = (): T => value
  const set = (next: T): void => {
    value = next
    for (const listener of listeners) listener()
  }
  const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return { get, set, use: (): T => useSyncExternalStore(subscribe, get) }
}
