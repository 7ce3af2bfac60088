import { Worker } from 'node:worker_threads'
import type { Files } from '../../adapters/embedded/read-only.ts'
import type { PastReads } from '../../as-of/reads.ts'
import { Refusal } from '../../errors.ts'
import { type Asked, errorOf, type Heard, rowOf } from './messages.ts'
import type { PastThreadData } from './thread.ts'
import { fails, type PortFaults } from '../telemetry/outage-log.ts'

/** Readings of the past, and the end of them. */
export type Past = PastReads & { readonly close: () => Promise<void> }

type Waiting = { readonly done: (value: unknown) => void; readonly fail: (error: Error) => void }
type Thread = {
  readonly worker: Worker
  readonly waiting: Map<number, Waiting>
  readonly ended: Promise<void>
  /** The file of the views that it reads. */
  readonly era: number
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (worker: Worker, words: Asked): void => worker.postMessage(words)

/** Gives the outcome of a reading to who waits for it. */
const settle = (waiting: Thread['waiting'], [id, outcome]: Exclude<Heard, { readonly damaged: string }>): void => {
  if ('value' in outcome) waiting.get(id)?.done(outcome.value)
  else waiting.get(id)?.fail(errorOf(outcome))
}

/** The refusal of a reading whose files are gone. */
const retiredBy = (cause: unknown): Refusal =>
  new Refusal('view_behind', undefined, { headers: { 'retry-after': '1' }, cause })

/**
 * Readings of the past of an embedded store in a thread of their own, which the first one begins. When it dies that is told, what it was
 * reading is refused with `backend_unavailable`, and the next reading begins another. A reading that is stopped ends when the thread says so.
 */
export const pastWorker = ({ paths, flushed, onDamage, views }: Files, key: Uint8Array, faults: PortFaults): Past => {
  const fault = faults.of('past')
  let thread: Thread | undefined
  const retired: Promise<void>[] = []
  let closing = false
  let serial = 0

  const begin = (era: number): Thread => {
    const workerData: PastThreadData = { events: paths.events, views: paths.views, key: Uint8Array.from(key) }
    const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData })
    const waiting = new Map<number, Waiting>()
    let cause: unknown = new Error('the thread that reads the past has ended')
    worker.on('message', (heard: Heard) => {
      if ('damaged' in heard) onDamage(heard.damaged, heard.error, era)
      else settle(waiting, heard)
    })
    worker.on('error', (error) => (cause = error))
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        const isRetired = thread?.worker !== worker
        if (!isRetired) thread = undefined
        const lost = () => new Refusal('backend_unavailable', undefined, { cause })
        if (!closing && !isRetired) fault.failed('past', 'read', lost())
        for (const { fail } of waiting.values()) fail(lost())
        resolve()
      })
    })
    return { worker, waiting, ended, era }
  }
  /** The thread that reads the files that there are; one that reads a file that is gone ends once it has answered. */
  const present = (): Thread => {
    const era = views.era()
    if (thread && era !== undefined && thread.era !== era) {
      tell(thread.worker, 'close')
      retired.push(thread.ended)
      thread = undefined
    }
    if (era === undefined && !thread) views.insist()
    return (thread ??= begin(era!))
  }

  const read = async <T>(signal: AbortSignal, asked: (id: number) => Asked): Promise<T> => {
    signal.throwIfAborted()
    if (closing) throw new Refusal('backend_unavailable')
    const { worker, waiting, era } = present()
    const id = ++serial
    const say = (words: Asked) => tell(worker, words)
    const stop = () => say([id, 'stop'])
    signal.addEventListener('abort', stop, { once: true })
    try {
      const value = await new Promise<unknown>((done, fail) => {
        waiting.set(id, { done, fail })
        say(asked(id))
      })
      fault.worked('past', 'read')
      return value as T
    } catch (error) {
      signal.throwIfAborted()
      // What it read by is gone: that is told elsewhere, and asked again it is answered.
      if (views.era() !== era) throw retiredBy(error)
      if (!closing && fails(error)) fault.failed('past', 'read', error)
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
      waiting.delete(id)
    }
  }

  return {
    positionOf: (instant, signal) => read(signal, (id) => [id, 'positionOf', [instant]]),
    rows: async (position, wanted, signal) =>
      (await read<readonly string[]>(signal, (id) => [id, 'rows', [position, wanted]])).map(rowOf),
    tokens: async (position, asked, signal) => {
      views.insist()
      await flushed()
      return read(signal, (id) => [id, 'tokens', [position, asked]])
    },
    close: async () => {
      closing = true
      if (thread) tell(thread.worker, 'close')
      await Promise.all([...retired, thread?.ended])
    },
  }
}
