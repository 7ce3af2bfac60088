import { promisify } from 'node:util'
import { gunzipSync, gzip } from 'node:zlib'
import type { EventData, ResolvedEvent } from '@eventstore/db-client'
import { refuse } from '../../base/errors.ts'
import type { NewEvent, Stored } from '../../events/log.ts'

const pack = promisify(gzip)
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Maximum size of one append on a real server: the sum of `sizeOf` of its events. */
const APPEND_BYTES = 1_048_576
/**
 * Data up to this size are stored as JSON, readable for people and projections of the store; larger data are
 * compressed.
 */
const JSON_BYTES = 65_536
/**
 * Maximum size of an event after decompression: far above the largest event of an append, far below a dangerous size.
 */
const UNPACKED_BYTES = 64 * 1_048_576

/** Event as returned by the driver; `position` is always set by servers from version 21 on. */
export type Recorded = NonNullable<ResolvedEvent['event']>

type Envelope = {
  readonly $correlationId?: string
  readonly $causationId?: string
  readonly time: string
  /** Object if JSON reproduces its text exactly, else the text. */
  readonly meta: object | string
}

const parsed = (text: string): { readonly value: unknown; readonly exact: boolean } => {
  const value: unknown = JSON.parse(text)
  return { value, exact: JSON.stringify(value) === text }
}
const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array)

const envelope = ({ time, meta }: NewEvent): Envelope => {
  const { value, exact } = parsed(meta)
  const { correlationId, causationId } = isObject(value) ? value : {}
  return {
    ...(typeof correlationId === 'string' && { $correlationId: correlationId }),
    ...(typeof causationId === 'string' && { $causationId: causationId }),
    time,
    meta: exact && isObject(value) ? value : meta,
  }
}

/**
 * Size of an event in bytes as EventStoreDB 24.10 counts it: data, metadata, and two bytes per letter of the type.
 * EventStoreDB 23.10 counts only the data.
 */
const sizeOf = ({ type, metadata }: { readonly type: string; readonly metadata: Envelope }, data: number): number =>
  data + Buffer.byteLength(JSON.stringify(metadata)) + 2 * type.length

/**
 * Encodes an event and returns its size as the server counts it. Data over 64 KiB, or that JSON would not reproduce
 * byte for byte, are sent as gzip of their text.
 */
const encode = async (event: NewEvent): Promise<{ readonly wire: EventData; readonly bytes: number }> => {
  const { id, type, data } = event
  const metadata = envelope(event)
  const { value, exact } = parsed(data)
  const length = Buffer.byteLength(data)
  // The driver serializes the value; for exact data this reproduces the original text.
  if (exact && length <= JSON_BYTES)
    return {
      wire: { id, type, contentType: 'application/json', data: value as Record<string, unknown>, metadata },
      bytes: sizeOf({ type, metadata }, length),
    }
  const packed = await pack(data)
  return {
    wire: { id, type, contentType: 'application/octet-stream', data: packed, metadata },
    bytes: sizeOf({ type, metadata }, packed.byteLength),
  }
}

/** Encodes the events of one append. Refuses with 413 if the server would reject the append as too large. */
export const encodeAll = async (events: readonly NewEvent[]): Promise<EventData[]> => {
  const encoded = await Promise.all(events.map(encode))
  if (encoded.reduce((sum, { bytes }) => sum + bytes, 0) > APPEND_BYTES) tooLarge()
  return encoded.map(({ wire }) => wire)
}

/** Refuses an append that exceeds the size limit of the server. */
export const tooLarge = (cause?: unknown): never =>
  refuse('body_too_large', 'the event of this change is larger than EventStoreDB accepts', { cause })

const unpacked = (data: Uint8Array): string => {
  try {
    return utf8.decode(gunzipSync(data, { maxOutputLength: UNPACKED_BYTES }))
  } catch {
    // Data of a different application, or damaged data, is returned as a base64 text, which every codec rejects.
    return JSON.stringify(Buffer.from(data).toString('base64'))
  }
}

/**
 * Restores an event as it was appended. Events of other applications are converted as far as possible and never
 * skipped; the codec of their category rejects them.
 */
export const decode = ({ streamId, id, type, revision, data, metadata, created, position }: Recorded): Stored => {
  const { time, meta } = (isObject(metadata) ? metadata : {}) as Partial<Envelope>
  return {
    id,
    type,
    time: typeof time === 'string' ? time : created.toISOString(),
    data: data instanceof Uint8Array ? unpacked(data) : JSON.stringify(data),
    meta: typeof meta === 'string' ? meta : JSON.stringify(meta ?? {}),
    stream: streamId,
    revision,
    position: position!.commit,
  }
}

/** Returns true for an event in the format of this log. */
export const isEnveloped = ({ metadata }: Recorded): boolean =>
  isObject(metadata) && typeof metadata['time'] === 'string' && 'meta' in metadata

const CATEGORY = /^[a-z]+$/

/**
 * Returns a predicate for the events of the log. With a prefix, these are all streams whose name continues with a
 * category, including categories of later versions; without one, the streams of the given categories. Streams and
 * events of the store itself begin with `$`.
 */
export const ownOf =
  (prefix: string, categories: ReadonlySet<string>) =>
  ({ streamId, type }: Recorded): boolean => {
    if (type.startsWith('$') || !streamId.startsWith(prefix)) return false
    const category = streamId.slice(prefix.length, Math.max(prefix.length, streamId.indexOf('-')))
    return prefix === '' ? categories.has(category) : CATEGORY.test(category)
  }
