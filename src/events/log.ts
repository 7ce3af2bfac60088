/**
 * An event on its way into the log. `type` is the wire name, `data` and `meta` are canonical JSON texts, `time` is the
 * writer's clock (RFC 3339 UTC with milliseconds).
 */
export type NewEvent = {
  readonly id: string
  readonly type: string
  readonly time: string
  readonly data: string
  readonly meta: string
}

/** An event of the log. Revisions count from 0n in each stream; positions grow strictly over the whole log, are opaque and only compared. */
export type Stored = NewEvent & { readonly stream: string; readonly revision: bigint; readonly position: bigint }

export type Expected = bigint | 'none'
/**
 * Revision of the last event appended, and the position of each. `times` are given where the log keeps other times:
 * never earlier than the event before.
 */
export type Appended = {
  readonly revision: bigint
  readonly positions: readonly bigint[]
  readonly times?: readonly string[]
}

/**
 * PORT. The one thing that every event store does. Everything is durable before it is acknowledged.
 * Iterators yield pages of at most 1,000 events, which end with the event that brings their data and metadata to 4 Mi characters. They
 * pull them as they are consumed (back-pressure), and end the read when they are returned.
 * Failures: Refusal `write_conflict` (the stream is not at the expected revision), Refusal `backend_unavailable`.
 */
export type EventLog = {
  /**
   * Appends to one stream, all or nothing. An append with the same first event id, whose events already stand behind
   * `expected`, is the same one again: it gives the first answer and writes nothing.
   */
  readonly append: (stream: string, events: readonly NewEvent[], expected: Expected) => Promise<Appended>
  /** The events of one stream in order, from a revision on, no more than `most`; a stream never written is empty. What the store has lost is missing: the revisions show the gap. A stream that it gives no more at all: Refusal `event_unreadable`. Whose position is beyond `upTo` is not asked for: it may come or not. */
  readonly read: (stream: string, from?: bigint, most?: number, upTo?: bigint) => AsyncIterable<readonly Stored[]>
  /** All events after a position (0n = from the start) up to and including another (default: the head when the read starts). */
  readonly readAll: (after: bigint, to?: bigint) => AsyncIterable<readonly Stored[]>
  /** Like readAll, and then every event as it is appended, until the signal aborts. No gap, no duplicate, in order. */
  readonly follow: (after: bigint, signal: AbortSignal) => AsyncIterable<readonly Stored[]>
  /** The event at exactly this position, undefined where none is. */
  readonly at: (position: bigint) => Promise<Stored | undefined>
  /** The first event there is, by which a log is told from any other. */
  readonly first: () => Promise<Stored | undefined>
  /** Position of the last event, 0n when there is none. */
  readonly head: () => Promise<bigint>
  readonly close: () => Promise<void>
}

/** A part of a stream: from a revision on. */
export type StreamStart = readonly [stream: string, from: bigint]

/**
 * The events up to a position of the first so many of these parts, found together at less cost than one after the other; they end before they are a
 * lot of text, and where the first alone is that, there are none. Undefined for a part with so many events or more, without any, or that lacks one.
 */
export type ReadParts = (
  parts: readonly StreamStart[],
  most: number,
  upTo: bigint,
) => Promise<readonly (readonly Stored[] | undefined)[]>
