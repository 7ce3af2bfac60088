import type { EventStoreDBClient } from '@eventstore/db-client'
import { type Clock, withTimeout } from '../../clock.ts'
import { semaphore } from '../../concurrency.ts'
import { refuse } from '../../errors.ts'
import { type Driver, insideOf, patchClient } from './client.ts'
import { expired, inPort, isAnswer, isExpired, isFailure } from './failures.ts'
import { type Read, readUntil, type Take } from './read-until.ts'

/** Own timer over the driver's deadline, for what the driver does before a call has one (discovery, connecting). */
const GRACE = 250
/** Reads on the wire at once, by what for: a connection carries 100 calls, and what must be answered soon waits for nothing that is many. Appends have the rest. */
export const READS = { head: 4, log: 6, stream: 20 } as const
export type Lane = keyof typeof READS
/** Expired calls in a row after which the client is made anew: by itself it leaves a hung server only after 17 s. */
const STRIKES = 2

/**
 * Connections made by this process. Clients with equal settings would share one HTTP/2 connection, its 100 streams and
 * its stalls. A keep-alive interval of its own keeps each apart.
 */
let made = 0

/** A short wait of uneven length, so that those who failed together do not come again together. */
export const pause = ({ sleep }: Pick<Clock, 'sleep'>, most = 200, signal?: AbortSignal): Promise<void> =>
  sleep(most / 4 + Math.random() * most * 0.75, signal)

/** Tries until there is an answer, for so many milliseconds; then Refusal `backend_unavailable`. */
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
export const connection = ({ driver, clock, url, deadline, patience, onRenewed, onBreak }: Connecting) => {
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
      return countTimeouts(used, withTimeout(clock, limit, Promise.resolve(used).then(action), late))
    },

    /** Reads until the end or until `take` says that it is enough; fails when it has no turn in time, or then nothing comes within the deadline. */
    gather: (lane: Lane, start: (client: EventStoreDBClient) => Read, take: Take): Promise<void> =>
      lanes[lane].holdWithin(
        clock,
        lane === 'head' ? deadline : patience,
        async () => {
          const used = open ? client : refuse('backend_unavailable')
          // Cancelled with its client, a read ends like one that has everything.
          const isWhole = () => open && used === client
          return countTimeouts(used, readUntil(clock, start(used), take, isWhole, deadline + GRACE))
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
