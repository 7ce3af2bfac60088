import type { MessagePort } from 'node:worker_threads'
import type { AsOfReads } from '../../as-of/reads.ts'
import { type Reason, Refusal } from '../../base/errors.ts'
import type { Closed, Row } from '../../projections/views.ts'

type Op = keyof AsOfReads
type Args<K extends Op> = Parameters<AsOfReads[K]> extends [...infer A, AbortSignal] ? A : never
type Value<K extends Op> = K extends 'rows' ? readonly string[] : Awaited<ReturnType<AsOfReads[K]>>

/**
 * Message of the main thread to the thread for past states: an id with a read to start or to stop, or the end of the
 * thread.
 */
export type ThreadRequest =
  | { readonly [K in Op]: readonly [id: number, op: K, args: Args<K>] }[Op]
  | readonly [id: number, op: 'stop']
  | 'close'
type Failed = { readonly reason?: Reason; readonly error: Error; readonly code?: unknown }
/** Message of the thread for past states: the outcome of a read, or a damaged file. Rows are JSON texts. */
export type ThreadResponse =
  | readonly [id: number, outcome: { readonly value: Value<Op> } | Failed]
  | { readonly damaged: string; readonly error: Error }

/** Maximum characters of rows in one message. The last row may exceed this size. */
export const PIECE = 131_072

type Flat = {
  readonly k: string
  readonly r: string
  readonly p: string
  readonly c: string
  readonly d?: object
  readonly u?: Closed
}

/** Serializes a row to JSON; `null` if there is none. */
const textOf = (row: Row | undefined): string => {
  if (!row) return 'null'
  const { key, revision, position, changes, doc, unreadable } = row
  const numbers = { r: String(revision), p: String(position), c: String(changes) }
  return JSON.stringify({ k: key, ...numbers, d: doc, u: unreadable } satisfies { [K in keyof Flat]: unknown })
}

/** Parses a serialized row. */
export const rowOf = (text: string): Row | undefined => {
  const flat = JSON.parse(text) as Flat | null
  if (!flat) return undefined
  const { k, r, p, c, d, u } = flat
  return { key: k, revision: BigInt(r), position: BigInt(p), changes: BigInt(c), doc: d, ...(u && { unreadable: u }) }
}

/** Converts an error to a form that can be posted. */
const failedBy = (thrown: unknown): Failed => {
  const cause = thrown instanceof Refusal ? thrown.cause : thrown
  const error = cause instanceof Error ? cause : new Error(String(cause ?? thrown))
  const code = 'code' in error ? { code: error.code } : {}
  return thrown instanceof Refusal ? { reason: thrown.reason, error, ...code } : { error, ...code }
}

/** Restores the error of the thread for past states. */
export const errorOf = ({ reason, error, code }: Failed): Error => {
  const cause = code === undefined ? error : Object.assign(error, { code })
  return reason === undefined ? cause : new Refusal(reason, undefined, { cause })
}

type Reading = Exclude<ThreadRequest, 'close' | readonly [number, 'stop']>

/** Rows of the first documents as JSON, up to about `PIECE` characters. */
const texts = async (reads: AsOfReads, [position, wanted]: Parameters<AsOfReads['rows']>, signal: AbortSignal) => {
  const rows: string[] = []
  for (let size = 0; rows.length < wanted.length && size < PIECE; ) {
    for (const row of await reads.rows(position, wanted.slice(rows.length), signal)) {
      const text = textOf(row)
      rows.push(text)
      size += text.length
    }
  }
  return rows
}

/**
 * Serves reads of past states that another thread requests through a port, several concurrently. A `stop` message
 * aborts one read at its next step, `close` aborts all. Resolves when no read is running after `close`.
 */
export const answerReads = (port: MessagePort, reads: AsOfReads): Promise<void> => {
  const running = new Map<number, AbortController>()
  const respond = (response: ThreadResponse) => port.postMessage(response)

  const read = async ([, op, args]: Reading, signal: AbortSignal) => {
    if (op === 'rows') return texts(reads, [...args, signal], signal)
    return op === 'tokens' ? reads.tokens(...args, signal) : reads.positionOf(...args, signal)
  }
  return new Promise((resolve) => {
    let closing = false
    const ended = () => void (closing && running.size === 0 && resolve())
    const answer = async (asked: Reading): Promise<void> => {
      const [id] = asked
      const stop = new AbortController()
      running.set(id, stop)
      try {
        respond([id, { value: await read(asked, stop.signal) }])
      } catch (error) {
        respond([id, failedBy(error)])
      }
      running.delete(id)
      ended()
    }
    port.on('message', (asked: ThreadRequest) => {
      if (asked === 'close') {
        closing = true
        for (const stop of running.values()) stop.abort(new Refusal('backend_unavailable'))
        ended()
      } else if (asked[1] === 'stop') running.get(asked[0])?.abort(new Refusal('cancelled'))
      else void answer(asked)
    })
  })
}
