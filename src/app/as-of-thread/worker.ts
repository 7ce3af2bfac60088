import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Files } from '../../adapters/embedded/read-only.ts'
import type { AsOfReads } from '../../as-of/reads.ts'
import { Refusal } from '../../base/errors.ts'
import { fails, type OutageLog } from '../telemetry/outage-log.ts'
import { errorOf, rowOf, type ThreadRequest, type ThreadResponse } from './messages.ts'
import type { AsOfThreadData } from './thread.ts'

/** Reads of past states that can be closed. */
export type AsOfReader = AsOfReads & { readonly close: () => Promise<void> }

type Waiting = { readonly done: (value: unknown) => void; readonly fail: (error: Error) => void }
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (worker: Worker, request: ThreadRequest): void => worker.postMessage(request)

const settle = (
  waiting: ReadonlyMap<number, Waiting>,
  [id, outcome]: Exclude<ThreadResponse, { readonly damaged: string }>,
): void => {
  if ('value' in outcome) waiting.get(id)?.done(outcome.value)
  else waiting.get(id)?.fail(errorOf(outcome))
}

/** Refusal of a read whose files were replaced. */
const retiredBy = (cause: unknown): Refusal =>
  new Refusal('view_behind', undefined, { headers: { 'retry-after': '1' }, cause })

/**
 * Starts a thread that reads the present files; `era` counts how often the files were replaced. When the thread ends,
 * `onEnd` receives the refusal for its reads.
 */
const startThread = (
  { paths, onDamage }: Pick<Files, 'paths' | 'onDamage'>,
  key: Uint8Array,
  era: number,
  onEnd: (lost: Refusal) => void,
) => {
  const workerData: AsOfThreadData = { events: paths.events, views: paths.views, key: Uint8Array.from(key) }
  const worker = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), { workerData })
  const waiting = new Map<number, Waiting>()
  let cause: unknown = new Error('the thread that reads past states has ended')
  worker.on('message', (response: ThreadResponse) => {
    if ('damaged' in response) onDamage(response.damaged, response.error, era)
    else settle(waiting, response)
  })
  worker.on('error', (error) => (cause = error))
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      const lost = () => new Refusal('backend_unavailable', undefined, { cause })
      onEnd(lost())
      for (const { fail } of waiting.values()) fail(lost())
      resolve()
    })
  })
  return { worker, waiting, ended, era }
}
type Thread = ReturnType<typeof startThread>

/**
 * Reads of past states of an embedded store in a worker thread, which the first read starts. If the thread dies, that
 * is logged, its reads are refused with `backend_unavailable`, and the next read starts another thread. An aborted read
 * ends when the thread confirms it.
 */
export const asOfWorker = (files: Files, key: Uint8Array, faults: OutageLog): AsOfReader => {
  const { flushed, views } = files
  const fault = faults.of('past')
  let thread: Thread | undefined
  const retired: Promise<void>[] = []
  let closing = false
  let serial = 0

  const begin = (era: number): Thread => {
    const begun = startThread(files, key, era, (lost) => {
      const isRetired = thread !== begun
      if (!isRetired) thread = undefined
      if (!closing && !isRetired) fault.failed('past', 'read', lost)
    })
    return begun
  }
  /** Returns the thread for the present files. A thread for replaced files ends when its reads are finished. */
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

  const read = async <T>(signal: AbortSignal, asked: (id: number) => ThreadRequest): Promise<T> => {
    signal.throwIfAborted()
    if (closing) throw new Refusal('backend_unavailable')
    const { worker, waiting, era } = present()
    const id = ++serial
    const send = (request: ThreadRequest) => tell(worker, request)
    const stop = () => send([id, 'stop'])
    signal.addEventListener('abort', stop, { once: true })
    try {
      const value = await new Promise<unknown>((done, fail) => {
        waiting.set(id, { done, fail })
        send(asked(id))
      })
      fault.worked('past', 'read')
      return value as T
    } catch (error) {
      signal.throwIfAborted()
      // The file that this read used was replaced, which is logged elsewhere. A retry succeeds.
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
