import type { EventStoreDBClient, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import { type Clock, withTimeout } from '../../base/clock.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'

type Failure = { readonly type?: unknown; readonly code?: unknown; readonly message?: string }
const failureOf = (error: unknown): Failure => (error instanceof Error ? error : {})

/** Returns true if the error has this type of the driver, or is a plain gRPC error with this code. */
export const isFailure = (error: unknown, type: string, code?: number): boolean => {
  const failure = failureOf(error)
  return failure.type === type || (code !== undefined && failure.type === undefined && failure.code === code)
}
export const isExpired = (error: unknown): boolean => isFailure(error, 'deadline-exceeded', 4)
const expired = (ms: number) =>
  Object.assign(new Error(`EventStoreDB did not answer within ${ms} ms`), { type: 'deadline-exceeded', code: 4 })

/** Error that a retry cannot fix: the history has changed. */
export const damaged = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { type: 'damaged' })
/** Returns true for errors that are a definite result, so that a retry is useless. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Refusal ||
  isFailure(error, 'damaged') ||
  isFailure(error, 'stream-deleted') ||
  isFailure(error, 'access-denied', 7)
/** Converts an error to one of the port. */
const inPort = (error: unknown): unknown => {
  if (isFailure(error, 'stream-deleted')) return damaged('a stream was deleted in EventStoreDB', error)
  return isAnswer(error) && !isFailure(error, 'access-denied', 7)
    ? error
    : new Refusal('backend_unavailable', undefined, { cause: error })
}

export type Driver = typeof import('@eventstore/db-client')

/** Private members of the driver's client that have to be patched. */
type Stub = { readonly getChannel: () => { readonly getConnectivityState: (connect: boolean) => number } }
type Inside = {
  execute: <T>(service: unknown, name: string, action: (stub: Stub) => Promise<T>) => Promise<T>
  handleError: (stub: Stub, error: unknown) => Promise<void>
  resolveUri: () => Promise<string>
  readonly getChannel: () => Promise<{ readonly close: () => void }>
}
const insideOf = (client: EventStoreDBClient) => client as unknown as Inside
const SHUT_DOWN = 4

/**
 * Catches two kinds of rejected promises that the driver does not handle. Without this, each of them would end the
 * process when a server disappears during a call.
 */
const patchClient = (client: EventStoreDBClient): EventStoreDBClient => {
  const inside = insideOf(client)
  const { execute, handleError } = inside
  // Fails when the search for another node fails.
  inside.handleError = (stub, error) => handleError(stub, error).catch(() => undefined)
  // An append on a channel that another call has just closed throws outside of any promise.
  inside.execute = (service, name, action) =>
    execute(service, name, (stub) => {
      const gone = stub.getChannel().getConnectivityState(false) === SHUT_DOWN
      return gone
        ? Promise.reject(new Error('the connection to EventStoreDB was closed before the call'))
        : action(stub)
    })
  return client
}

export type Read = StreamingRead<ResolvedEvent>
type Take = (item: ResolvedEvent) => boolean

/**
 * Passes the items of a read to `take` until the read ends or `take` returns true. Rejects if nothing arrives for
 * `limit` ms, or if the read ends early.
 */
export const readUntil = (
  { monotonic, after }: Pick<Clock, 'monotonic' | 'after'>,
  read: Read,
  take: Take,
  isWhole: () => boolean,
  limit: number,
): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    let done = false
    const finish = (settle: () => void) => {
      if (done) return
      done = true
      timer.cancel()
      settle()
      // An abandoned read occupies its HTTP/2 stream until it is cancelled.
      read.cancel().catch(() => undefined)
    }
    const late = () => finish(() => reject(expired(limit)))
    let received = 0
    let last = monotonic()
    /** Checks the timeout. First processes the items that arrived while the process was busy. */
    const checkSilence = () => {
      const left = last + limit - monotonic()
      if (left > 0) {
        timer = after(left, checkSilence)
        return
      }
      const before = received
      setImmediate(() => {
        if (received === before) late()
        else if (!done) checkSilence()
      })
    }
    let timer = after(limit, checkSilence)
    read.on('data', (item: ResolvedEvent) => {
      if (done) return
      received++
      last = monotonic()
      try {
        if (take(item)) finish(resolve)
      } catch (error) {
        finish(() => reject(error))
      }
    })
    read.on('error', (error) => finish(() => reject(error)))
    read.on('end', () => (isWhole() ? finish(resolve) : late()))
  })

/**
 * Additional time in ms before the client's timeout, because the driver's deadline does not include discovery and
 * connecting.
 */
const GRACE = 250
/**
 * Maximum number of concurrent reads of each kind. A connection carries 100 calls; separate limits keep long reads from
 * delaying urgent ones. Appends use the other calls of the connection.
 */
export const READS = { head: 4, log: 6, stream: 20 } as const
export type Lane = keyof typeof READS
/**
 * Consecutive timeouts after which the client is replaced. The driver alone leaves a hanging server only after 17 s.
 */
const STRIKES = 2

/**
 * Number of connections made by this process. Clients with equal settings would share one HTTP/2 connection with its
 * 100 streams and its stalls, so each gets a unique keep-alive interval.
 */
let made = 0

/** Waits for a short random time, so that calls that failed together do not retry together. */
export const pause = ({ sleep }: Pick<Clock, 'sleep'>, most = 200, signal?: AbortSignal): Promise<void> =>
  sleep(most / 4 + Math.random() * most * 0.75, signal)

/** Repeats an attempt until it returns a result, for at most `ms` ms; then throws the Refusal `backend_unavailable`. */
export const patiently = async <T>(clock: Clock, ms: number, attempt: () => Promise<T>): Promise<T> => {
  for (const end = clock.monotonic() + ms; ; ) {
    try {
      return await attempt()
    } catch (error) {
      if (isAnswer(error) || clock.monotonic() + 100 > end) throw inPort(error)
    }
    await pause(clock)
  }
}

export type Connection = ReturnType<typeof connection>

type Connecting = {
  readonly driver: Driver
  readonly clock: Clock
  readonly url: string
  /** Timeout of one call in ms, and the maximum wait until it may begin. */
  readonly deadline: number
  readonly patience: number
  readonly onRenewed: () => void
  readonly onBreak: () => void
}

const noTurn = (): Error => new Error('too many reads wait for the connection to EventStoreDB')

/** Closes a client that is no longer used. */
const leave = async (old: EventStoreDBClient) => {
  const inside = insideOf(old)
  // The driver never closes a channel that it abandons, so its socket would stay open. The driver must not search for a
  // server again either.
  const close = async () => (await inside.getChannel()).close()
  inside.resolveUri = () => Promise.reject(new Error('this client is closed'))
  await old.dispose()
  // A client that is still searching for a server has no channel.
  close().catch(() => undefined)
}

/**
 * One connection to the store. The timeout of a call starts when the call is sent. After repeated timeouts the client
 * of the driver is replaced.
 */
export const connection = ({ driver, clock, url, deadline, patience, onRenewed, onBreak }: Connecting) => {
  const make = () =>
    patchClient(driver.EventStoreDBClient.connectionString(`${url}&keepAliveInterval=${10_000 + (made++ % 10_000)}`))
  let client: EventStoreDBClient = make()
  const lane = (total: number, ms: number) => fairGate({ total, within: { clock, ms }, refused: noTurn })
  const lanes = {
    head: lane(READS.head, deadline),
    log: lane(READS.log, patience),
    stream: lane(READS.stream, patience),
  }
  let strikes = 0
  let open = true

  const renew = (used = client) => {
    if (used !== client || !open) return
    strikes = 0
    try {
      client = make()
    } catch {
      // The certificate file cannot be read at the moment. The old client stays in use until the next timeouts.
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

    /** Runs one call, which succeeds or fails within the deadline. */
    call: async <T>(action: (client: EventStoreDBClient) => Promise<T>): Promise<T> => {
      const used = open ? client : refuse('backend_unavailable')
      const limit = deadline + GRACE
      const late = (): never => {
        throw expired(limit)
      }
      return countTimeouts(used, withTimeout(clock, limit, Promise.resolve(used).then(action), late))
    },

    /**
     * Reads events until the end or until `take` returns true. Fails if the read cannot start in time because of the
     * limit of concurrent reads, or if no event arrives within the deadline.
     */
    gather: (lane: Lane, start: (client: EventStoreDBClient) => Read, take: Take): Promise<void> =>
      lanes[lane].run(async () => {
        const used = open ? client : refuse('backend_unavailable')
        // Cancelling the client also ends its reads normally, so check that the client is still current.
        const isWhole = () => open && used === client
        return countTimeouts(used, readUntil(clock, start(used), take, isWhole, deadline + GRACE))
      }),

    close: async (): Promise<void> => {
      if (!open) return
      open = false
      await leave(client)
    },
  }
}
