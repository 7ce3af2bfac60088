import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../sqlite.ts'
import { type LedgerOps, ledgerOps } from './ledger-file.ts'

/** Request to the ledger thread: an id, an operation and its arguments; or the end of the thread. */
export type LedgerRequest = readonly [id: number, op: keyof LedgerOps, args: readonly unknown[]] | 'close'
/** Response: the value of the operation, or its failure. */
export type LedgerResponse = readonly [id: number, outcome: { readonly value: unknown } | { readonly error: Error }]
/** First message: the names of all operations. */
export type LedgerReady = { readonly ops: readonly (keyof LedgerOps)[] }

/**
 * Entry of the ledger thread, the only writer of ledger.sqlite. It has a thread of its own, so that a sync of this file
 * delays neither requests nor appends.
 */
const port = parentPort!
const send = (response: LedgerResponse) => port.postMessage(response)
const database = await openDatabase(workerData as string, 'durable')
const ops = ledgerOps(database)

const run = (op: keyof LedgerOps, args: readonly unknown[]): unknown => {
  database.exec('begin immediate')
  try {
    const value = (ops[op] as (...args: readonly unknown[]) => unknown)(...args)
    database.exec('commit')
    return value
  } catch (error) {
    try {
      database.exec('rollback')
    } catch {
      // SQLite has rolled back by itself, for example on a full disk.
    }
    throw error
  }
}

port.on('message', (request: LedgerRequest) => {
  if (request === 'close') {
    database.close()
    port.close()
    return
  }
  const [id, op, args] = request
  try {
    send([id, { value: run(op, args) }])
  } catch (error) {
    send([id, { error: error instanceof Error ? error : new Error(String(error)) }])
  }
})
port.postMessage({ ops: Object.keys(ops) as (keyof LedgerOps)[] } satisfies LedgerReady)
