import type { Clock } from '../../clock.ts'
import { refuse } from '../../errors.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { addressOf } from './address.ts'
import { appender } from './append.ts'
import type { Driver } from './client.ts'
import { connection } from './connection.ts'
import { ownOf } from './event.ts'
import { follower } from './follow.ts'
import { otherPrefix } from './other-prefix.ts'
import { reader } from './read.ts'

/** What the names of the log's streams begin with in a store that others may use too. */
export const STREAM_PREFIX = 'rollcall.'

type Options = {
  readonly clock: Clock
  /** What stands before the name of each stream in the store, and nowhere else; without `-`, which ends a category. */
  readonly prefix?: string
  /** The categories that are written. Without a prefix their streams are the log; with one all are that begin with it and a category, of later versions too. Everything else in the store is not seen. */
  readonly categories: Iterable<string>
  /** Told once for each outage that a follower survives. */
  readonly onError: (job: string, error: unknown) => void
  /** Told of each connection and each subscription that is made anew. */
  readonly onRestart?: (what: 'connection' | 'subscription') => void
  /** Told of each call that found the store out of reach, and of each subscription that broke off: what is there next may be another. */
  readonly onBreak?: () => void
  /** Milliseconds that one call may take; short, for a leader that hangs is left after two that expired. */
  readonly deadline?: number
  /** Milliseconds after which an append or a read that has no certain answer is refused; a new leader is elected within 8.5 s. */
  readonly patience?: number
  /** Appends taken on at once, the next is refused; the driver begins to fail at twice as many as the default. */
  readonly inFlight?: number
}

export type EventStore = EventLog & {
  /** The prefix under which the store has streams like those of this log, where none is of this log: a history that it does not see. */
  readonly otherPrefix: () => Promise<string | undefined>
}

/**
 * The log in EventStoreDB 23 or later, one node or a cluster, named by `esdb://[name:password@]host[,host…][?tls=false]`.
 * Connects when it is first asked. Times are kept as given. An append holds at most 1 MiB of data, as stored; more is refused with `body_too_large`.
 */
export const openEventStore = async (
  url: string,
  {
    clock,
    prefix = STREAM_PREFIX,
    categories,
    onError,
    onRestart = () => {},
    onBreak = () => {},
    deadline = 1_500,
    patience = 10_000,
    inFlight = 4_000,
  }: Options,
): Promise<EventStore> => {
  const driver: Driver = await import('@eventstore/db-client')
  const known = [...categories]
  const own = new Set(known)
  const isOwn = ownOf(prefix, own)
  const closing = new AbortController()
  const address = addressOf(url)
  const connecting = { driver, clock, deadline, patience, onRenewed: () => onRestart('connection'), onBreak }
  const main = connection({ ...connecting, url: address.leader })
  // Followers of a cluster notice nothing when its leader dies, so what is only followed is followed there.
  const following = connection({ ...connecting, url: address.follower })
  const read = reader(main, isOwn, { clock, patience, quick: deadline })
  const append = appender({
    connection: main,
    clock,
    reader: read,
    credentials: address.credentials,
    patience,
    inFlight,
    closing: closing.signal,
  })
  const follow = follower({
    driver,
    clock,
    connection: following,
    reader: read,
    prefixes: prefix === '' ? known.map((category) => `${category}-`) : [prefix],
    isOwn,
    onError: (error) => onError('follow', error),
    onRestart: () => onRestart('subscription'),
    onBreak,
  })
  const short = <E extends Stored | undefined>(event: E): E =>
    event && { ...event, stream: event.stream.slice(prefix.length) }
  const pages = async function* (full: AsyncIterable<readonly Stored[]>) {
    for await (const page of full) yield page.map(short)
  }
  const whenOpen = <T>(what: T): T => (closing.signal.aborted ? refuse('backend_unavailable') : what)

  return {
    append: async (stream, events, expected) => {
      if (!own.has(stream.slice(0, Math.max(0, stream.indexOf('-')))))
        throw new Error(`${stream} is of no category of this log`)
      return whenOpen(append).append(prefix + stream, events, expected)
    },
    read: (stream, from) => pages(read.read(prefix + stream, from)),
    readAll: (after, to) => pages(read.readAll(after, to)),
    follow: (after, signal) => pages(follow(after, AbortSignal.any([signal, closing.signal]))),
    at: async (position) => short(await whenOpen(read).at(position)),
    first: async () => short(await whenOpen(read).first()),
    otherPrefix: () => otherPrefix(main, clock, known, prefix),
    head: async () => whenOpen(read).head(),
    close: async () => {
      closing.abort()
      await append.idle()
      await Promise.all([main.close(), following.close()])
    },
  }
}
