import type { FastifyRequest } from 'fastify'
import type { Moment } from '../as-of/as-of.ts'
import { bulkhead } from '../auth/bulkhead.ts'
import type { Clock } from '../clock.ts'
import { Refusal } from '../errors.ts'
import type { Metrics } from './operations/metrics.ts'
import type { Call, Spec } from './route/route.ts'
import { addressKey } from './wire/client-address.ts'
import type { Answer } from './wire/reply.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborts when a reading of the past must stop. Set on requests that name a moment. */
    stop: AbortSignal
    /** What was at the moment that the request names, once it is read. */
    moment: Snapshot | undefined
  }
}

/** What was at a moment, as far as it says which that is. */
type Snapshot = { readonly moment: () => Promise<{ readonly position: bigint; readonly instant: string | undefined }> }

type Bounds = {
  /** How many run at once, and how many run or wait: of all holders, and of each. */
  readonly running: number
  readonly all: number
  readonly each: number
  /** How many further ones each may have of those that want the right `audit.read`. */
  readonly reviews: number
  /** How many of all are kept for readings that are preferred. */
  readonly kept: number
  /** How long one may wait and run. */
  readonly withinMs: number
}
/** One holder alone can never have all places that run. */
const BOUNDS: Bounds = { running: 8, all: 64, each: 4, reviews: 2, kept: 8, withinMs: 10_000 }

/** Whose reading it is. `isReview`: it wants the right `audit.read`. It is preferred then, and where it reads one document. */
type Reader = { readonly holder: string; readonly isReview: boolean; readonly preferred: boolean }

/** A promise that rejects with the signal's reason. */
const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

/**
 * Readings of the past within their bounds (api.md §4); holders take turns. `stop` is aborted when the time is over. Who asks hears of an abort
 * at once, while the place of the reading is free when it has stopped, at the latest at the end of its time: so nobody who asks and leaves has
 * more of them running than who stays.
 */
export const asOfReadings = (
  metrics: Pick<Metrics, 'pastReads' | 'pastReadsRefused' | 'gauge'>,
  { monotonic, after }: Clock,
  bounds = BOUNDS,
) => {
  const [seconds, refused] = [metrics.pastReads(), metrics.pastReadsRefused()]
  /** How many each holder has, running or waiting. */
  const own = new Map<string, number>()
  let [all, running] = [0, 0]
  const pass = bulkhead({ running: bounds.running, waiting: bounds.all, refused: ({ reason }) => reason as unknown })
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge(name, help, [], () => [{ labels: [], value: value() }])
  gauge('past_reads_running', 'Readings of the past that run now.', () => running)
  gauge('past_reads_waiting', 'Readings of the past that wait for their turn now.', () => all - running)

  const enter = ({ holder, isReview, preferred }: Reader): void => {
    const had = own.get(holder) ?? 0
    const each = bounds.each + (isReview ? bounds.reviews : 0)
    if (had >= each || all >= bounds.all - (preferred ? 0 : bounds.kept)) {
      refused.value++
      throw had < each
        ? new Refusal('history_busy')
        : new Refusal('rate_limited', undefined, { headers: { 'retry-after': '1' } })
    }
    own.set(holder, had + 1)
    all++
  }
  const leave = (holder: string): void => {
    const left = own.get(holder)! - 1
    if (left > 0) own.set(holder, left)
    else own.delete(holder)
    all--
  }

  return async <T>(reader: Reader, stop: AbortController, work: () => Promise<T> | T): Promise<T> => {
    const { signal } = stop
    signal.throwIfAborted()
    enter(reader)
    const began = monotonic()
    const time = new AbortController()
    const timer = after(bounds.withinMs, () => {
      stop.abort(new Refusal('deadline_exceeded'))
      time.abort(signal.reason)
    }).unref()
    const run = async (): Promise<T> => {
      running++
      try {
        return await Promise.race([work(), rejected(time.signal)])
      } finally {
        running--
      }
    }
    const reading = pass(reader.holder, signal, run).finally(() => {
      timer.cancel()
      leave(reader.holder)
      seconds.observe((monotonic() - began) / 1000)
    })
    return Promise.race([reading, rejected(signal)])
  }
}
export type AsOfReadings = ReturnType<typeof asOfReadings>

type HolderOf = { readonly holderOf: (tokenId: string) => Promise<string> }

const wantsAudit = ({ access }: Spec): boolean => access.credential !== 'public' && access.right === 'audit.read'
const isOfOne = ({ method, url }: Spec): boolean => method === 'GET' && /\/:[^/]+$/.test(url)

/** Whose reading it is: the holder's of its token, without a token the address's. */
const readerOf = async ({ holderOf }: HolderOf, { caller, address, spec }: FastifyRequest): Promise<Reader> => {
  const isReview = wantsAudit(spec!)
  const holder = caller.actor.id === undefined ? addressKey(address) : await holderOf(caller.actor.id)
  return { holder, isReview, preferred: isReview || isOfOne(spec!) }
}

/** What was at a moment, for a request that names it; its answer tells which moment that is. */
export const snapshotAt = async <T extends Snapshot>(
  { asOf }: { readonly asOf: (moment: Moment, stop: AbortSignal) => Promise<T> },
  moment: Moment,
  request: FastifyRequest,
): Promise<T> => {
  const then = await asOf(moment, request.stop)
  request.moment = then
  return then
}

/** The answer with the moment that it is of (api.md §4). */
const dated = async (answer: Answer, then: Snapshot | undefined): Promise<Answer> => {
  if (!then) return answer
  const { position, instant } = await then.moment()
  const headers = { 'as-of-position': String(position), ...(instant !== undefined && { 'as-of-time': instant }) }
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

/** The answer of a request that reads the past, within the bounds. Stops when the client leaves. */
export const asOfReading = async (
  service: { readonly pastReadings: AsOfReadings } & HolderOf,
  { request }: Call<unknown, unknown>,
  answer: () => Promise<Answer> | Answer,
): Promise<Answer> => {
  const { socket } = request.raw
  const stop = new AbortController()
  const leave = (): void => stop.abort(new Refusal('cancelled'))
  if (socket.destroyed) leave()
  socket.once('close', leave)
  request.stop = stop.signal
  try {
    return await service.pastReadings(await readerOf(service, request), stop, async () =>
      dated(await answer(), request.moment),
    )
  } finally {
    socket.off('close', leave)
  }
}
