import type { EventStoreDBClient, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import { pause as rest, within } from '../../concurrency.ts'
import { Refusal, refuse } from '../../errors.ts'

export type Driver = typeof import('@eventstore/db-client')

/** Own timer over the driver's deadline, for what the driver does before a call has one (discovery, connecting). */
const GRACE = 250
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

/** What of the driver's client has to be taken in hand. */
type Stub = { readonly getChannel: () => { readonly getConnectivityState: (connect: boolean) => number } }
type Inside = {
  execute: <T>(service: unknown, name: string, action: (stub: Stub) => Promise<T>) => Promise<T>
  handleError: (stub: Stub, error: unknown) => Promise<void>
  resolveUri: () => Promise<string>
  readonly getChannel: () => Promise<{ readonly close: () => void }>
}
const insideOf = (client: EventStoreDBClient) => client as unknown as Inside
const SHUT_DOWN = 4

/** The driver leaves two rejections to nobody, and either would end the process when a server goes while calls are under way. */
const patchClient = (client: EventStoreDBClient): EventStoreDBClient => {
  const inside = insideOf(client)
  const { execute, handleError } = inside
  // It fails when the search for another node fails.
  inside.handleError = (stub, error) => handleError(stub, error).catch(() => undefined)
  // An append on a channel that another call has just closed throws where nobody catches.
  inside.execute = (service, name, action) =>
    execute(service, name, (stub) => {
      const gone = stub.getChannel().getConnectivityState(false) === SHUT_DOWN
      return gone ? Promise.reject(new Error('the connection was left before the call')) : action(stub)
    })
  return client
}

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
    const timer = setTimeout(late, limit)
    read.on('data', (item: ResolvedEvent) => {
      if (done) return
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

/** One connection to the store, with a timer around every call, made anew when it goes silent. */
export const connection = (driver: Driver, url: string, deadline: number, onRenewed: () => void) => {
  const make = () =>
    patchClient(driver.EventStoreDBClient.connectionString(`${url}&keepAliveInterval=${10_000 + (made++ % 10_000)}`))
  let client: EventStoreDBClient = make()
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

    /** Reads until the end or until `take` says that it is enough; fails when nothing comes within the deadline. */
    gather: async (start: (client: EventStoreDBClient) => Read, take: Take): Promise<void> => {
      const used = open ? client : refuse('backend_unavailable')
      // Cancelled with its client, a read ends like one that has everything.
      const isWhole = () => open && used === client
      return countTimeouts(used, readUntil(start(used), take, isWhole, deadline + GRACE))
    },

    close: async (): Promise<void> => {
      if (!open) return
      open = false
      await leave(client)
    },
  }
}
