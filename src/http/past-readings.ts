import type { FastifyRequest } from 'fastify'
import type { Moment } from '../audit/as-of.ts'
import type { Clock } from '../clock.ts'
import { bulkhead } from '../auth/bulkhead.ts'
import { Refusal } from '../errors.ts'
import { addressKey } from './auth/credential.ts'
import type { Metrics } from './operations/metrics.ts'
import type { Call } from './route.ts'
import type { Answer } from './wire/reply.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborts when a reading of the past must stop. Set on requests that name a moment. */
    stop: AbortSignal
    /** What was at the moment that the request names, once it is read. */
    moment: Then | undefined
  }
}

/** What was at a moment, as far as it says which that is. */
type Then = { readonly moment: () => Promise<{ readonly position: bigint; readonly instant: string | undefined }> }

type Bounds = {
  /** How many run at once, and how many run or wait: of all callers, and of each. */
  readonly running: number
  readonly all: number
  readonly each: number
  /** How long one may wait and run. */
  readonly withinMs: number
}
/** One caller alone can never have all places that run. */
const BOUNDS: Bounds = { running: 8, all: 64, each: 4, withinMs: 10_000 }

/** A promise that rejects with the signal's reason. */
const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

/**
 * Readings of the past within their bounds (api.md §4); callers take turns. `stop` is aborted when the time is over. Who asks hears of an abort
 * at once, while the place of the reading is free when it has stopped, at the latest at the end of its time: so nobody who asks and leaves has
 * more of them running than who stays.
 */
export const pastReadings = (
  metrics: Pick<Metrics, 'pastReads' | 'pastReadsRefused' | 'gauge'>,
  { monotonic, after }: Clock,
  bounds = BOUNDS,
) => {
  const [seconds, refused] = [metrics.pastReads(), metrics.pastReadsRefused()]
  /** How many each caller has, running or waiting. */
  const own = new Map<string, number>()
  let [all, running] = [0, 0]
  const pass = bulkhead({ running: bounds.running, waiting: bounds.all, refused: ({ reason }) => reason as unknown })
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge(name, help, [], () => [{ labels: [], value: value() }])
  gauge('past_reads_running', 'Readings of the past that run now.', () => running)
  gauge('past_reads_waiting', 'Readings of the past that wait for their turn now.', () => all - running)

  const enter = (caller: string): void => {
    const had = own.get(caller) ?? 0
    if (had >= bounds.each || all >= bounds.all) {
      refused.value++
      throw had < bounds.each
        ? new Refusal('history_busy')
        : new Refusal('rate_limited', undefined, { headers: { 'retry-after': '1' } })
    }
    own.set(caller, had + 1)
    all++
  }
  const leave = (caller: string): void => {
    const left = own.get(caller)! - 1
    if (left > 0) own.set(caller, left)
    else own.delete(caller)
    all--
  }

  return async <T>(caller: string, stop: AbortController, work: () => Promise<T> | T): Promise<T> => {
    const { signal } = stop
    signal.throwIfAborted()
    enter(caller)
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
    const reading = pass(caller, signal, run).finally(() => {
      timer.cancel()
      leave(caller)
      seconds.observe((monotonic() - began) / 1000)
    })
    return Promise.race([reading, rejected(signal)])
  }
}
export type PastReadings = ReturnType<typeof pastReadings>

/** Whose reading it is: the credential's, without one the address's. */
const callerOf = ({ caller: { actor }, address }: FastifyRequest): string => actor.id ?? addressKey(address)

/** What was at a moment, for a request that names it; its answer tells which moment that is. */
export const thenOf = async <T extends Then>(
  { asOf }: { readonly asOf: (moment: Moment, stop: AbortSignal) => Promise<T> },
  moment: Moment,
  request: FastifyRequest,
): Promise<T> => {
  const then = await asOf(moment, request.stop)
  request.moment = then
  return then
}

/** The answer with the moment that it is of (api.md §4). */
const dated = async (answer: Answer, then: Then | undefined): Promise<Answer> => {
  if (!then) return answer
  const { position, instant } = await then.moment()
  const told = { 'as-of-position': String(position), ...(instant !== undefined && { 'as-of-time': instant }) }
  return { ...answer, headers: { ...answer.headers, ...told } }
}

/** The answer of a request that reads the past, within the bounds. Stops when the client leaves. */
export const pastReading = async (
  { pastReadings }: { readonly pastReadings: PastReadings },
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
    return await pastReadings(callerOf(request), stop, async () => dated(await answer(), request.moment))
  } finally {
    socket.off('close', leave)
  }
}
