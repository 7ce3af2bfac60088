import { EventEmitter } from 'node:events'
import { type Clock, systemClock } from '../../../src/base/clock.ts'

/**
 * Event as the server stores it. Positions are byte offsets: unique and increasing, with gaps. `created` is in 100 ns
 * since 1970.
 */
export type Recorded = {
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  readonly stream: string
  readonly revision: bigint
  readonly position: bigint
  readonly created: bigint
}
export type Proposed = Pick<Recorded, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>
export type Expected = bigint | 'no_stream' | 'stream_exists' | 'any'
type Answer =
  | { readonly revision: bigint; readonly position?: bigint }
  | { readonly wrong: Expected; readonly current: bigint | undefined }
  | { readonly deleted: true }

const FOR_EVER = 9_223_372_036_854_775_807n
const MARK_BYTES = 64

type Stream = { readonly events: Recorded[]; tombstone: boolean }

/** Size of an event in the log, in bytes. */
const lengthOf = ({ stream, data, metadata }: Pick<Recorded, 'stream' | 'data' | 'metadata'>) =>
  BigInt(MARK_BYTES + stream.length + data.length + metadata.length)

/**
 * In-memory model of EventStoreDB: append results, visible streams and order of events. `copy` is a restored log,
 * without deleted streams.
 */
export const law = (copy: readonly Recorded[] = [], { now }: Pick<Clock, 'now'> = systemClock) => {
  const all: Recorded[] = []
  const streams = new Map<string, Stream>()
  /** Event ids that the server remembers until a restart; used for ANY and STREAM_EXISTS only. */
  let ids = new Map<string, number>()
  const appended = new EventEmitter().setMaxListeners(0)
  let end = 0n

  const record = (stream: string, revision: bigint, proposed: Proposed): Recorded => {
    const event = {
      ...proposed,
      id: proposed.id.toLowerCase(),
      stream,
      revision,
      position: end,
      created: BigInt(now().getTime()) * 10_000n,
    }
    end += lengthOf(event)
    all.push(event)
    return event
  }
  const write = (name: string, proposed: readonly Proposed[]): Recorded => {
    const stream = streams.get(name) ?? { events: [], tombstone: false }
    streams.set(name, stream)
    for (const one of proposed) {
      const event = record(name, BigInt(stream.events.length), one)
      ids.set(`${name} ${event.id}`, stream.events.length)
      stream.events.push(event)
    }
    appended.emit('event')
    return stream.events.at(-1)!
  }
  const mark = (name: string, metadata: object): Recorded =>
    write(`$$${name}`, [
      {
        id: crypto.randomUUID(),
        type: '$metadata',
        contentType: 'application/json',
        // 2^63 - 1 is not a double; the server writes it exactly.
        data: Buffer.from(JSON.stringify(metadata).replace('9223372036854776000', String(FOR_EVER))),
        metadata: new Uint8Array(),
      },
    ])
  const metadataOf = (name: string): { readonly $tb?: number; readonly $maxCount?: number } => {
    const last = streams.get(`$$${name}`)?.events.at(-1)
    return last ? (JSON.parse(Buffer.from(last.data).toString()) as object) : {}
  }
  const softDeleted = (name: string) => (metadataOf(name).$tb ?? 0) >= 2 ** 63
  const known = (name: string) => streams.get(name)?.events ?? []
  const sameFrom = (events: readonly Recorded[], first: number, proposed: readonly Proposed[]) =>
    proposed.every(({ id }, n) => events[first + n]?.id === id.toLowerCase())

  const append = (name: string, expected: Expected, proposed: readonly Proposed[]): Answer => {
    const events = known(name)
    const gone = softDeleted(name)
    const current = events.length > 0 ? BigInt(events.length - 1) : undefined
    const wrong = { wrong: expected, current }
    const again = (first: number): Answer => {
      const last = events[first + proposed.length - 1]!
      return gone ? { revision: last.revision } : { revision: last.revision, position: last.position }
    }
    if (streams.get(name)?.tombstone) return { deleted: true }
    if (expected === 'stream_exists' && gone) return { deleted: true }
    if (expected === 'stream_exists' && current === undefined) return wrong
    const free = expected === 'any' || expected === 'stream_exists'
    const first = expected === 'no_stream' ? 0 : typeof expected === 'bigint' ? Number(expected) + 1 : events.length
    if (proposed.length === 0) {
      if (!free && first !== events.length) return wrong
      return { revision: current ?? 0n, position: end }
    }
    if (free) {
      const before = ids.get(`${name} ${proposed[0]!.id.toLowerCase()}`)
      if (before !== undefined) return sameFrom(events, before, proposed) ? again(before) : wrong
    } else if (first < events.length && sameFrom(events, first, proposed)) return again(first)
    else if (first !== events.length && !(gone && expected === 'no_stream')) return wrong
    if (gone) mark(name, { $tb: events.length })
    const last = write(name, proposed)
    return { revision: last.revision, position: last.position }
  }

  const remove = (name: string, expected: Expected, tombstone: boolean): Answer => {
    const stream = streams.get(name)
    const current = stream && stream.events.length > 0 ? BigInt(stream.events.length - 1) : undefined
    if (stream?.tombstone) return { deleted: true }
    if (typeof expected === 'bigint' ? expected !== current : current === undefined && !tombstone)
      return { wrong: expected, current }
    if (!tombstone) return { revision: current!, position: mark(name, { $tb: Number(FOR_EVER) }).position }
    const buried = stream ?? { events: [], tombstone: true }
    buried.tombstone = true
    streams.set(name, buried)
    const none = new Uint8Array()
    const proposed = {
      id: crypto.randomUUID(),
      type: '$streamDeleted',
      contentType: 'application/octet-stream',
      data: none,
      metadata: none,
    }
    const { position } = record(name, FOR_EVER, proposed)
    appended.emit('event')
    return { revision: FOR_EVER, position }
  }

  for (const event of copy) {
    all.push(event)
    const stream = streams.get(event.stream) ?? { events: [], tombstone: false }
    streams.set(event.stream, stream)
    stream.events.push(event)
    end = event.position + lengthOf(event)
  }
  if (copy.length === 0) mark('$scavenges', { $maxCount: 3 })
  return {
    all,
    appended,
    append,
    remove,
    write,
    /** First visible revision of a stream, and whether it is missing or tombstoned. */
    shown: (name: string) => {
      const { $tb = 0, $maxCount } = metadataOf(name)
      const events = known(name)
      const from = Math.max($tb, $maxCount === undefined ? 0 : events.length - $maxCount)
      return {
        events,
        from,
        missing: events.length === 0 || softDeleted(name),
        tombstone: streams.get(name)?.tombstone ?? false,
      }
    },
    /** Clears the state that a server loses on a restart. */
    forget: (): void => void (ids = new Map()),
  }
}

export type Law = ReturnType<typeof law>

/** Visible log of the first `count` events. */
export const beginning = (law: Law, count: number): Pick<Law, 'all' | 'shown'> => {
  const all = law.all.slice(0, count)
  const end = all.at(-1)?.position ?? -1n
  const shown: Law['shown'] = (name) => {
    const now = law.shown(name)
    const events = now.events.filter(({ position }) => position <= end)
    return { ...now, events, missing: events.length === 0 }
  }
  return { all, shown }
}
