import { promisify } from 'node:util'
import { gunzipSync, gzip } from 'node:zlib'
import type { EventData, ResolvedEvent } from '@eventstore/db-client'
import { refuse } from '../../errors.ts'
import type { NewEvent, Stored } from '../../events/log.ts'

const pack = promisify(gzip)
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** What a real server takes in one append, counted over its events by `sizeOf`. */
const APPEND_BYTES = 1_048_576
/** Data up to here stand as JSON, where people and projections of the store can read them; larger data are packed. */
const JSON_BYTES = 65_536
/** What one packed event may unpack to: far above the largest that fits an append, far below what would hurt. */
const UNPACKED_BYTES = 64 * 1_048_576

/** The event as the driver gives it; `position` is always there on servers from 21 on. */
export type Recorded = NonNullable<ResolvedEvent['event']>

type Envelope = {
  readonly $correlationId?: string
  readonly $causationId?: string
  readonly time: string
  /** The object when JSON gives its text back as it was, else the text. */
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

/** Bytes of an event as EventStoreDB 24.10 counts them: data, metadata, and two for each letter of the type. 23.10 counts the data alone. */
const sizeOf = ({ type, metadata }: { readonly type: string; readonly metadata: Envelope }, data: number): number =>
  data + Buffer.byteLength(JSON.stringify(metadata)) + 2 * type.length

/**
 * An event for the wire, and its size as the server counts it. Data larger than 64 KiB, or that JSON would not give
 * back byte for byte, travel as gzip of their text.
 */
const encode = async (event: NewEvent): Promise<{ readonly wire: EventData; readonly bytes: number }> => {
  const { id, type, data } = event
  const metadata = envelope(event)
  const { value, exact } = parsed(data)
  const length = Buffer.byteLength(data)
  // The driver prints what it is given, so the value is printed to the very text it was read from.
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

/** The events of one append for the wire. Refuses 413 what no server would take whole: nothing is ever cut. */
export const encodeAll = async (events: readonly NewEvent[]): Promise<EventData[]> => {
  const encoded = await Promise.all(events.map(encode))
  if (encoded.reduce((sum, { bytes }) => sum + bytes, 0) > APPEND_BYTES) tooLarge()
  return encoded.map(({ wire }) => wire)
}

/** Refuses an append that is larger than the server takes. */
export const tooLarge = (cause?: unknown): never =>
  refuse('body_too_large', 'the change is larger than the event store takes', { cause })

const unpacked = (data: Uint8Array): string => {
  try {
    return utf8.decode(gunzipSync(data, { maxOutputLength: UNPACKED_BYTES }))
  } catch {
    // Not ours, or damaged: given on as the text of its bytes, which no codec of the house takes for an event.
    return JSON.stringify(Buffer.from(data).toString('base64'))
  }
}

/** The event as it was appended. What somebody else wrote comes as well as it can: it is never skipped, the codec of its category refuses it. */
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

/** True for an event in the form that this log gives its events. */
export const isEnveloped = ({ metadata }: Recorded): boolean =>
  isObject(metadata) && typeof metadata['time'] === 'string' && 'meta' in metadata

const CATEGORY = /^[a-z]+$/

/**
 * True for the events of the log: under a prefix every stream that begins with a category, which a later version may know alone; without one
 * the streams of these categories. The store's own streams, links and marks begin with `$`.
 */
export const ownOf =
  (prefix: string, categories: ReadonlySet<string>) =>
  ({ streamId, type }: Recorded): boolean => {
    if (type.startsWith('$') || !streamId.startsWith(prefix)) return false
    const category = streamId.slice(prefix.length, Math.max(prefix.length, streamId.indexOf('-')))
    return prefix === '' ? categories.has(category) : CATEGORY.test(category)
  }
