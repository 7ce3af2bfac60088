import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Refusal } from '../../../base/errors.ts'
import type { LedgerStore } from '../../../ledger/ledger-store.ts'
import type { LedgerOps } from './ledger-file.ts'
import type { LedgerReady, LedgerRequest, LedgerResponse } from './thread.ts'

type Waiting = { readonly done: (value: unknown) => void; readonly fail: (cause: unknown) => void }

const unavailable = (cause: unknown) => new Refusal('backend_unavailable', undefined, { cause })

/** Opens ledger.sqlite with a thread of its own. Rejects if the file does not open. */
export const openLedgerFile = async (file: string): Promise<LedgerStore> => {
  const worker = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), { workerData: file })
  const waiting = new Map<number, Waiting>()
  let [serial, cause] = [0, undefined as unknown]
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (request: LedgerRequest) => worker.postMessage(request)
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      cause ??= new Error(`the thread that writes ${file} has ended`)
      for (const { fail } of waiting.values()) fail(unavailable(cause))
      waiting.clear()
      resolve()
    })
  })
  const settle = ([id, outcome]: LedgerResponse) => {
    const request = waiting.get(id)
    waiting.delete(id)
    if ('value' in outcome) return request?.done(outcome.value)
    const error = Object.assign(outcome.error, { message: `${file}: ${outcome.error.message}` })
    // A record that does not parse stays unreadable until an operator acts, unlike an outage of the store.
    request?.fail(error instanceof SyntaxError ? error : unavailable(error))
  }
  const { ops } = await new Promise<LedgerReady>((resolve, reject) => {
    worker.on('error', (error) => reject((cause = error)))
    worker.on('message', (message: LedgerReady | LedgerResponse) =>
      'ops' in message ? resolve(message) : settle(message),
    )
  })
  const call = (op: keyof LedgerOps, args: readonly unknown[]) =>
    new Promise<unknown>((done, fail) => {
      if (cause !== undefined) return fail(unavailable(cause))
      waiting.set(++serial, { done, fail })
      send([serial, op, args])
    })
  const byName = Object.fromEntries(ops.map((op) => [op, (...args: readonly unknown[]) => call(op, args)]))
  return {
    ...(byName as unknown as Omit<LedgerStore, 'close'>),
    close: async () => {
      if (cause === undefined) send('close')
      await ended
    },
  }
}
