import type { EventStoreDBClient, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import { systemClock } from '../../clock.ts'
import { pause as rest, semaphore, within } from '../../concurrency.ts'
import { Refusal, refuse } from '../../errors.ts'
import { type Driver, insideOf, patchClient } from './client.ts'

/** Own timer over the driver's deadline, for what the driver does before a call has one (discovery, connecting). */
const GRACE = 250
/** Reads on the wire at once, by what for: a connection carries 100 calls, and what must be answered soon waits for nothing that is many. Appends have the rest. */
const READS = { head: 4, log: 6, stream: 20 } as const
export type Lane = keyof typeof READS
/** Expired calls in a row after which the client is made anew: by itself it leaves a hung server only after 17 s. */
const STRIKES = 2

/**
 * Connections made by this process. Clients with equal settings would share one HTTP/2 connection, its 100 streams and
 * its stalls. A keep-alive interval of its own keeps each apart.
 */
let made = 0

type Failure = { readonly type?: unknown; readonly code?: unknown; readonly message?: string }
const failureOf = (error: unknown): Failure => (error instanceof Error ? error : {})

/** True when the error has this type of the driver, or is a bare gRPC error with this code. */
export const isFailure = (error: unknown, type: string, code?: number): boolean => {
  const failure = failureOf(error)
  return failure.type === type || (code !== undefined && failure.type === undefined && failure.code === code)
}
export const isExpired = (error: unknown): boolean => isFailure(error, 'deadline-exceeded', 4)
const expired = (ms: number) =>
  Object.assign(new Error(`no answer within ${ms} ms`), { type: 'deadline-exceeded', code: 4 })

/** An error that no second try mends: the history is not what it was. */
export const damaged = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { type: 'damaged' })
/** Errors that are an answer, and not a reason to ask again. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Refusal ||
  isFailure(error, 'damaged') ||
  isFailure(error, 'stream-deleted') ||
  isFailure(error, 'access-denied', 7)
const inPort = (error: unknown): unknown => {
  if (isFailure(error, 'stream-deleted')) return damaged('a stream was deleted in EventStoreDB', error)
  return isAnswer(error) && !isFailure(error, 'access-denied', 7)
    ? error
    : new Refusal('backend_unavailable', undefined, { cause: error })
}

/** A short wait of uneven length, so that those who failed together do not come again together. */
export const pause = (most = 200, signal?: AbortSignal): Promise<void> =>
  rest(most / 4 + Math.random() * most * 0.75, signal)

/** Tries until there is an answer, for so many milliseconds; then Refusal `backend_unavailable`. */
export const patiently = async <T>(ms: number, attempt: () => Promise<T>): Promise<T> => {
  for (const end = performance.now() + ms; ; ) {
    try {
      return await attempt()
    } catch (error) {
      if (isAnswer(error) || performance.now() + 100 > end) throw inPort(error)
    }
    await pause()
  }
}

export type Connection = ReturnType<typeof connection>

type Read = StreamingRead<ResolvedEvent>
type Take = (item: ResolvedEvent) => boolean

/**
 * Takes events of a read until it ends, or until `take` returns true. Rejects when nothing comes for `limit`
 * milliseconds, or when it ends early.
 */
const readUntil = (read: Read, take: Take, isWhole: () => boolean, limit: number): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    let done = false
    const finish = (settle: () => void) => {
      if (done) return
      done = true
      clearTimeout(timer)
      settle()
      // A read that is left keeps its HTTP/2 stream until it is cancelled.
      read.cancel().catch(() => undefined)
    }
    const late = () => finish(() => reject(expired(limit)))
    let heard = 0
    /** What came while this process was busy is read first. */
    const unheard = () => {
      const before = heard
      setImmediate(() => heard === before && late())
    }
    const timer = setTimeout(unheard, limit)
    read.on('data', (item: ResolvedEvent) => {
      if (done) return
      heard++
      timer.refresh()
      try {
        if (take(item)) finish(resolve)
      } catch (error) {
        finish(() => reject(error))
      }
    })
    read.on('error', (error) => finish(() => reject(error)))
    read.on('end', () => (isWhole() ? finish(resolve) : late()))
  })

type Connecting = {
  readonly driver: Driver
  readonly url: string
  /** Milliseconds that one call may take, and that it may wait for its turn before. */
  readonly deadline: number
  readonly patience: number
  readonly onRenewed: () => void
  readonly onBreak: () => void
}

const noTurn = (): never => {
  throw new Error('too many reads at once')
}

/** One connection to the store, with a timer around every call from when it has its turn, made anew when it goes silent. */
export const connection = ({ driver, url, deadline, patience, onRenewed, onBreak }: Connecting) => {
  const make = () =>
    patchClient(driver.EventStoreDBClient.connectionString(`${url}&keepAliveInterval=${10_000 + (made++ % 10_000)}`))
  let client: EventStoreDBClient = make()
  const lanes = { head: semaphore(READS.head), log: semaphore(READS.log), stream: semaphore(READS.stream) }
  let strikes = 0
  let open = true

  const leave = async (old: EventStoreDBClient) => {
    const inside = insideOf(old)
    // The driver never closes a channel that it gives up; left open, each would keep its socket. Nor may it look for a server again.
    const close = async () => (await inside.getChannel()).close()
    inside.resolveUri = () => Promise.reject(new Error('this client was left'))
    await old.dispose()
    // There is none while it still looks for a server, which nobody waits for any more.
    close().catch(() => undefined)
  }
  const renew = (used = client) => {
    if (used !== client || !open) return
    strikes = 0
    try {
      client = make()
    } catch {
      // The file of an authority cannot be read just now: the old client goes on until the next strikes.
      return
    }
    onRenewed()
    leave(used).catch(() => undefined)
  }
  const countTimeouts = async <T>(used: EventStoreDBClient, answer: Promise<T>): Promise<T> => {
    try {
      const value = await answer
      if (used === client) strikes = 0
      return value
    } catch (error) {
      if (used === client && !isExpired(error)) strikes = 0
      else if (used === client && ++strikes >= STRIKES) renew()
      if (isFailure(error, 'unavailable', 14)) onBreak()
      throw error
    }
  }

  return {
    client: (): EventStoreDBClient => (open ? client : refuse('backend_unavailable')),
    renew,

    /** One call, answered or failed within the deadline. */
    call: async <T>(action: (client: EventStoreDBClient) => Promise<T>): Promise<T> => {
      const used = open ? client : refuse('backend_unavailable')
      const limit = deadline + GRACE
      const late = (): never => {
        throw expired(limit)
      }
      return countTimeouts(used, within(limit, Promise.resolve(used).then(action), late))
    },

    /** Reads until the end or until `take` says that it is enough; fails when it has no turn in time, or then nothing comes within the deadline. */
    gather: (lane: Lane, start: (client: EventStoreDBClient) => Read, take: Take): Promise<void> =>
      lanes[lane].holdWithin(
        systemClock,
        lane === 'head' ? deadline : patience,
        async () => {
          const used = open ? client : refuse('backend_unavailable')
          // Cancelled with its client, a read ends like one that has everything.
          const isWhole = () => open && used === client
          return countTimeouts(used, readUntil(start(used), take, isWhole, deadline + GRACE))
        },
        noTurn,
      ),

    close: async (): Promise<void> => {
      if (!open) return
      open = false
      await leave(client)
    },
  }
}
