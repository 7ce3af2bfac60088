/**
 * An event before it is appended. `type` is the wire name, `data` and `meta` are canonical JSON texts, `time` is the
 * writer's clock (RFC 3339 UTC with milliseconds).
 */
export type NewEvent = {
  readonly id: string
  readonly type: string
  readonly time: string
  readonly data: string
  readonly meta: string
}

/**
 * A stored event. Revisions count from 0n in each stream. Positions increase strictly over the whole log; they are
 * opaque and only compared.
 */
export type Stored = NewEvent & { readonly stream: string; readonly revision: bigint; readonly position: bigint }

export type Expected = bigint | 'none'
/**
 * Revision of the last appended event, and the positions of all. `times` are given if the log stores other times, which
 * never decrease.
 */
export type Appended = {
  readonly revision: bigint
  readonly positions: readonly bigint[]
  readonly times?: readonly string[]
}

/**
 * PORT. Event store. Every append is durable before it is acknowledged. Iterators yield pages of at most 1,000 events.
 * A page also ends after the event with which its data and metadata reach 4 Mi characters. Pages are read on demand
 * (back-pressure); `return` ends the read. Failures: Refusal `write_conflict` (the stream is not at the expected
 * revision), Refusal `backend_unavailable`.
 */
export type EventLog = {
  /**
   * Appends to one stream, all or nothing. Idempotent by ids alone: if events with these ids already follow `expected`,
   * it returns the first result and writes nothing, even if their data differ. A caller that repeats an id with other
   * data reads the stored events. After `backend_unavailable` the events may still be appended later.
   */
  readonly append: (stream: string, events: readonly NewEvent[], expected: Expected) => Promise<Appended>
  /**
   * Reads at most `most` events of a stream, in order, from a revision on. A stream that was never written is empty. If
   * the store has lost events of the stream, their revisions are missing in the result. If the store cannot read the
   * stream at all, the call fails with the Refusal `event_unreadable`. Events beyond the position `upTo` may be
   * omitted.
   */
  readonly read: (stream: string, from?: bigint, most?: number, upTo?: bigint) => AsyncIterable<readonly Stored[]>
  /**
   * Reads all events after a position (0n: from the start) up to and including `to` (default: the head at the start of
   * the read).
   */
  readonly readAll: (after: bigint, to?: bigint) => AsyncIterable<readonly Stored[]>
  /**
   * Like readAll, then continues with new events until the signal aborts. Events are delivered in order, without gaps
   * or duplicates.
   */
  readonly follow: (after: bigint, signal: AbortSignal) => AsyncIterable<readonly Stored[]>
  /** Returns the event at exactly this position; undefined if there is none. */
  readonly at: (position: bigint) => Promise<Stored | undefined>
  /** Returns the first event, which identifies the log. */
  readonly first: () => Promise<Stored | undefined>
  /** Position of the last event; 0n if the log is empty. */
  readonly head: () => Promise<bigint>
  readonly close: () => Promise<void>
}

/** Part of a stream: from a revision on. */
export type StreamStart = readonly [stream: string, from: bigint]

/**
 * Reads several stream parts together, up to a position, faster than one by one. The amount of text in the result is
 * limited, so the result may contain only the first parts, and no part at all if the first part alone exceeds the
 * limit. The result of a part is undefined in three cases: the part is empty, it has `most` events or more, or one of
 * its events is missing.
 */
export type ReadParts = (
  parts: readonly StreamStart[],
  most: number,
  upTo: bigint,
) => Promise<readonly (readonly Stored[] | undefined)[]>

/** Observes the events of a log, or controls its appends. */
export type LogTap = {
  /** The observer is called after each successful append. */
  readonly onAppend?: (events: readonly NewEvent[], appended: Appended) => void
  /** Called with each page of `follow`, before the follower receives it. */
  readonly onPage?: (page: readonly Stored[]) => void
  /** Runs an append, or refuses it. */
  readonly aroundAppend?: (append: () => Promise<Appended>) => Promise<Appended>
}

/**
 * Adds observers to an event log. Observers run in the given order. The `aroundAppend` of a later tap wraps that of an
 * earlier one.
 */
export const tappedLog = (log: EventLog, taps: readonly LogTap[]): EventLog => ({
  ...log,
  append: (stream: string, events: readonly NewEvent[], expected: Expected): Promise<Appended> => {
    const appendAndReport = async () => {
      const appended = await log.append(stream, events, expected)
      for (const { onAppend } of taps) onAppend?.(events, appended)
      return appended
    }
    return taps.reduce<() => Promise<Appended>>(
      (inner, { aroundAppend }) => (aroundAppend ? () => aroundAppend(inner) : inner),
      appendAndReport,
    )()
  },
  follow: async function* (after, signal) {
    for await (const page of log.follow(after, signal)) {
      for (const { onPage } of taps) onPage?.(page)
      yield page
    }
  },
})

/** Identity of a log: its first event. */
export type LogIdentity = { readonly event: string; readonly position: bigint }

/**
 * PORT. Binds a deployment to its log. Stored with the keys, because without the keys the log is unreadable. Failure:
 * Refusal `backend_unavailable`.
 */
export type Binding = {
  /** The result is undefined before the first event. */
  readonly read: () => Promise<LogIdentity | undefined>
  /** Stores the identity of a log, unless an identity is already stored. Returns the stored identity. */
  readonly write: (identity: LogIdentity) => Promise<LogIdentity>
}
