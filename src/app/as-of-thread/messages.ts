import type { AsOfReads } from '../../as-of/reads.ts'
import { type Reason, Refusal } from '../../errors.ts'
import type { Closed, Row } from '../../projections/views.ts'

type Op = keyof AsOfReads
type Args<K extends Op> = Parameters<AsOfReads[K]> extends [...infer A, AbortSignal] ? A : never
type Value<K extends Op> = K extends 'rows' ? readonly string[] : Awaited<ReturnType<AsOfReads[K]>>

/** What the thread of requests says to the one that reads: an id, and a reading to begin or to stop; or that it is over. */
export type ThreadRequest =
  | { readonly [K in Op]: readonly [id: number, op: K, args: Args<K>] }[Op]
  | readonly [id: number, op: 'stop']
  | 'close'
type Failed = { readonly reason?: Reason; readonly error: Error; readonly code?: unknown }
/** What it hears from there: the outcome of a reading, or that a file is damaged. Rows come as JSON texts. */
export type ThreadResponse =
  | readonly [id: number, outcome: { readonly value: Value<Op> } | Failed]
  | { readonly damaged: string; readonly error: Error }

/** Characters of rows that go over as one message; the last of them may go beyond. */
export const PIECE = 131_072

type Flat = {
  readonly k: string
  readonly r: string
  readonly p: string
  readonly c: string
  readonly d?: object
  readonly u?: Closed
}

/** A row as JSON text; `null` where there is none. */
export const textOf = (row: Row | undefined): string => {
  if (!row) return 'null'
  const { key, revision, position, changes, doc, unreadable } = row
  const numbers = { r: String(revision), p: String(position), c: String(changes) }
  return JSON.stringify({ k: key, ...numbers, d: doc, u: unreadable } satisfies { [K in keyof Flat]: unknown })
}

/** The row of a text. */
export const rowOf = (text: string): Row | undefined => {
  const flat = JSON.parse(text) as Flat | null
  if (!flat) return undefined
  const { k, r, p, c, d, u } = flat
  return { key: k, revision: BigInt(r), position: BigInt(p), changes: BigInt(c), doc: d, ...(u && { unreadable: u }) }
}

/** An error in a form that goes over. */
export const failedBy = (thrown: unknown): Failed => {
  const cause = thrown instanceof Refusal ? thrown.cause : thrown
  const error = cause instanceof Error ? cause : new Error(String(cause ?? thrown))
  const code = 'code' in error ? { code: error.code } : {}
  return thrown instanceof Refusal ? { reason: thrown.reason, error, ...code } : { error, ...code }
}

/** The error that was thrown there. */
export const errorOf = ({ reason, error, code }: Failed): Error => {
  const cause = code === undefined ? error : Object.assign(error, { code })
  return reason === undefined ? cause : new Refusal(reason, undefined, { cause })
}
