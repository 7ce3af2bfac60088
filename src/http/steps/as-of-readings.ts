import type { FastifyRequest } from 'fastify'
import type { Moment } from '../../as-of/as-of.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'
import { addressKey } from '../memory/address-key.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Spec } from '../route/route.ts'
import type { Answer } from '../wire/reply.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborts when a read of a past state must stop. Set on requests with the parameter `at`. */
    stop: AbortSignal
    /** Snapshot as of the request's moment, once it is read. */
    moment: Snapshot | undefined
  }
}

/** The part of a snapshot that reports its moment. */
type Snapshot = { readonly moment: () => Promise<{ readonly position: bigint; readonly instant: string | undefined }> }

type Bounds = {
  /** Maximum number of running queries. */
  readonly running: number
  /** Maximum number of running and waiting queries. */
  readonly all: number
  /** Maximum number of running and waiting queries per holder. */
  readonly each: number
  /** Additional queries per holder for routes with the right `audit.read`. */
  readonly reviews: number
  /** Share of `all` that is reserved for preferred queries. */
  readonly kept: number
  /** Maximum time (ms) to wait and run. */
  readonly withinMs: number
}
/** `each` plus `reviews` is less than `running`, so that one holder cannot run all reads of past states. */
const BOUNDS: Bounds = { running: 8, all: 64, each: 4, reviews: 2, kept: 8, withinMs: 10_000 }

/**
 * Holder of a read of a past state. `isReview`: the route of the read requires `audit.read`. Reviews and queries of a
 * single document are preferred.
 */
type Reader = { readonly holder: string; readonly isReview: boolean; readonly preferred: boolean }

/** A promise that rejects with the signal's reason. */
const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

/**
 * Gate of the reads of past states (api.md §4); holders take turns, and `stop` is aborted at the deadline. If a query
 * is aborted, its caller continues at once, but the query counts against the limit until it has stopped, at the latest
 * at its deadline. So a client cannot exceed the limit by disconnecting.
 */
export const asOfReadings = (
  metrics: Pick<Metrics, 'pastReads' | 'pastReadsRefused' | 'gauge'>,
  { monotonic, after }: Clock,
  bounds = BOUNDS,
) => {
  const [seconds, refused] = [metrics.pastReads(), metrics.pastReadsRefused()]
  const gate = fairGate({ total: bounds.running })
  metrics.gauge('past_reads_running', 'Running as-of queries.', [], () => gate.held())
  metrics.gauge('past_reads_waiting', 'Waiting as-of queries.', [], () => gate.waiting())

  const admit = ({ holder, isReview, preferred }: Reader): void => {
    const entered = (of?: string) => gate.held(of) + gate.waiting(of)
    const isOver = entered(holder) >= bounds.each + (isReview ? bounds.reviews : 0)
    if (!isOver && entered() < bounds.all - (preferred ? 0 : bounds.kept)) return
    refused.value++
    throw isOver
      ? new Refusal('rate_limited', undefined, { headers: { 'retry-after': '1' } })
      : new Refusal('history_busy')
  }

  return async <T>(reader: Reader, stop: AbortController, work: () => Promise<T> | T): Promise<T> => {
    const { signal } = stop
    signal.throwIfAborted()
    admit(reader)
    const began = monotonic()
    const time = new AbortController()
    const timer = after(bounds.withinMs, () => {
      stop.abort(new Refusal('deadline_exceeded'))
      time.abort(signal.reason)
    }).unref()
    const run = async (): Promise<T> => Promise.race([work(), rejected(time.signal)])
    const reading = gate.run(run, { holder: reader.holder }, signal).finally(() => {
      timer.cancel()
      seconds.observe((monotonic() - began) / 1000)
    })
    return Promise.race([reading, rejected(signal)])
  }
}
export type HolderOf = {
  /** The holder of a token, as a text that all tokens of one holder share. */
  readonly holderOf: (tokenId: string) => Promise<string>
}
/** Reads of past states, bounded by holder. */
export type PastReadings = HolderOf & { readonly read: ReturnType<typeof asOfReadings> }

const wantsAudit = ({ access }: Spec): boolean => access.credential !== 'public' && access.right === 'audit.read'
const isOfOne = ({ method, url }: Spec): boolean => method === 'GET' && /\/:[^/]+$/.test(url)

/** Holder of a request (api.md §4): the holder of its token, or the address without a token. */
export const holderOfRequest = async (
  { holderOf }: HolderOf,
  { caller: { actor }, address }: Pick<FastifyRequest, 'caller' | 'address'>,
): Promise<string> => (actor.id === undefined ? addressKey(address) : holderOf(actor.id))

/** Returns the snapshot as of a moment. The answer to the request then states this moment. */
export const snapshotAt = async <T extends Snapshot>(
  { asOf }: { readonly asOf: (moment: Moment, stop: AbortSignal) => Promise<T> },
  moment: Moment,
  request: FastifyRequest,
): Promise<T> => {
  const snapshot = await asOf(moment, request.stop)
  request.moment = snapshot
  return snapshot
}

/** Adds the moment of the snapshot to an answer (api.md §4). */
const dated = async <T>(answer: Answer<T>, snapshot: Snapshot | undefined): Promise<Answer<T>> => {
  if (!snapshot) return answer
  const { position, instant } = await snapshot.moment()
  const headers = { 'as-of-position': String(position), ...(instant !== undefined && { 'as-of-time': instant }) }
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

/** Answers a read of a past state within the limits. The read stops when the client disconnects. */
export const asOfReading = async <T>(
  { pastReadings }: { readonly pastReadings: PastReadings },
  request: FastifyRequest,
  answer: () => Promise<Answer<T>> | Answer<T>,
): Promise<Answer<T>> => {
  const { socket } = request.raw
  const stop = new AbortController()
  const leave = (): void => stop.abort(new Refusal('cancelled'))
  if (socket.destroyed) leave()
  socket.once('close', leave)
  request.stop = stop.signal
  try {
    const isReview = wantsAudit(request.spec!)
    const holder = await holderOfRequest(pastReadings, request)
    const reader = { holder, isReview, preferred: isReview || isOfOne(request.spec!) }
    return await pastReadings.read(reader, stop, async () => dated(await answer(), request.moment))
  } finally {
    socket.off('close', leave)
  }
}
