import type { Clock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { addressOf } from './address.ts'
import { appender } from './append.ts'
import { type Connection, connection, type Driver, patiently } from './connection.ts'
import { isEnveloped, ownOf, type Recorded } from './event.ts'
import { back, PAGE, scanAll } from './find.ts'
import { follower } from './follow.ts'
import { reader } from './read.ts'

/** Timeout in ms of the search at the start or at the end of the store. */
const PATIENCE_MS = 10_000

/** Pattern of a valid prefix. */
const PREFIX = '[A-Za-z0-9_.:/]*?'

/**
 * Finds a prefix, other than the configured one, whose streams have the given categories and contain events in the
 * format of Rollcall. Searches only the first and the newest events of the store.
 */
export const otherPrefix = async (
  connection: Connection,
  clock: Clock,
  categories: readonly string[],
  own: string,
): Promise<string | undefined> => {
  const named = new RegExp(`^(${PREFIX})(?:${categories.join('|')})-`)
  let found: string | undefined
  const look = (event: Recorded): boolean => {
    const prefix = isEnveloped(event) ? named.exec(event.streamId)?.[1] : undefined
    if (prefix !== own) found ??= prefix
    return found !== undefined
  }
  await patiently(clock, PATIENCE_MS, () => scanAll(connection, 'log', { fromPosition: 'start', maxCount: PAGE }, look))
  if (found === undefined) await patiently(clock, PATIENCE_MS, () => scanAll(connection, 'log', back('end'), look))
  return found
}

/** Default prefix of the log's streams, for a store shared with other applications. */
export const STREAM_PREFIX = 'rollcall.'

type Options = {
  readonly clock: Clock
  /**
   * Prefix of every stream name in the store, invisible outside the adapter. The prefix must not contain `-`, which
   * ends the category in a stream name.
   */
  readonly prefix?: string
  /**
   * Categories of streams that may be written. If there is no prefix, the log consists of the streams of these
   * categories. With a prefix, it consists of the streams of any category under the prefix, including those of later
   * versions.
   */
  readonly categories: Iterable<string>
  /** Called once per outage that a follower survives. */
  readonly onError: (job: string, error: unknown) => void
  /** Called for each connection and each subscription that is replaced. */
  readonly onRestart?: (what: 'connection' | 'subscription') => void
  /**
   * Called for each call that cannot reach the store, and for each subscription that breaks off: the store behind it
   * may have been replaced.
   */
  readonly onBreak?: () => void
  /** Timeout of one call in ms. The timeout is short, because a hanging leader is abandoned after two timeouts. */
  readonly deadline?: number
  /**
   * Time in ms after which an append or a read without a certain result is refused. Electing a new leader takes up to
   * 8.5 s.
   */
  readonly patience?: number
  /**
   * Maximum concurrent appends; an append beyond this number is refused. The driver of EventStoreDB fails at twice the
   * default.
   */
  readonly inFlight?: number
}

export type EventStore = EventLog & {
  /**
   * Prefix under which the store has streams like those of this log, while this log has none: a history that the
   * configured prefix hides.
   */
  readonly otherPrefix: () => Promise<string | undefined>
}

/**
 * Log in EventStoreDB 23 or later, a single node or a cluster, at `esdb://[name:password@]host[,host…][?tls=false]`.
 * Connects on first use and stores times as given. An append may contain 1 MiB of encoded data; a larger append is
 * refused with `body_too_large`.
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
  // Followers do not notice the death of a leader, so the log is followed on a follower.
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
        throw new Error(`the name of stream ${stream} does not begin with a known category of streams`)
      return whenOpen(append).append(prefix + stream, events, expected)
    },
    read: (stream, from, most) => pages(read.read(prefix + stream, from, most)),
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
