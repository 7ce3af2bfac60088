import { useSyncExternalStore } from 'react'
import { type Failure, isFailure } from '../api/failure.ts'
import { type Verdict, verifyHere } from './verify.ts'

/** State of the check by this browser. It continues while other pages are open. */
export type Run =
  | { readonly kind: 'none' | 'stopped' }
  /** `size` is undefined until the checkpoint is read. */
  | { readonly kind: 'running'; readonly done: number; readonly size: number | undefined }
  | { readonly kind: 'ended'; readonly verdict: Verdict }
  | { readonly kind: 'failed'; readonly failure: Failure }

const listeners = new Set<() => void>()
let present: Run = { kind: 'none' }
let stop: AbortController | undefined

const become = (next: Run): void => {
  present = next
  for (const listener of listeners) listener()
}

/** Begins a check, unless one is running. */
export const beginRun = async (): Promise<void> => {
  if (present.kind === 'running') return
  stop = new AbortController()
  const { signal } = stop
  become({ kind: 'running', done: 0, size: undefined })
  const onProgress = (done: number, size: number) => !signal.aborted && become({ kind: 'running', done, size })
  try {
    const verdict = await verifyHere(signal, onProgress)
    become({ kind: 'ended', verdict })
  } catch (error) {
    if (signal.aborted) become({ kind: 'stopped' })
    else if (isFailure(error)) become({ kind: 'failed', failure: error })
    else {
      become({ kind: 'none' })
      throw error
    }
  }
}

/** Stops the running check; its result is not remembered. */
export const stopRun = (): void => stop?.abort()

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useRun = (): Run => useSyncExternalStore(subscribe, () => present)
