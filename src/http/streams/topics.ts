import type { ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { forEachSliced } from '../../base/event-loop.ts'
import type { Lease } from '../../base/gate.ts'
import { attempt } from '../wire/fault.ts'

/** Time in ms in which changes become one frame. */
const JOIN_MS = 50
/** Size in bytes above which a topic sends at most one frame in `LARGE_GAP_MS`. */
const LARGE = 1_048_576
const LARGE_GAP_MS = 1_000

/** Text of one state, which all streams of a topic share. Two frames with the same name are equal. */
export type Frame = { readonly name: string; readonly chunks: readonly Buffer[] }

/** Content of the streams about one namespace in one form. */
export type Content = {
  /** Topics with the same key have the same content. */
  readonly key: string
  readonly namespace: string
  readonly kind: 'events' | 'snapshots'
  /** The present frame. Streams of a topic without one are ended. */
  readonly frame: () => Promise<Frame | undefined>
  /** Sent every 20 s, so that proxies keep the connection. */
  readonly alive?: Buffer
}

/**
 * One open stream. `name`: its newest frame; `room` reserves memory for a frame. While a snapshot is being sent,
 * `isBehind` states that a newer one exists.
 */
export type OpenStream = {
  readonly response: ServerResponse
  readonly room: (bytes: number) => Pick<Lease, 'free'> | undefined
  name: string | undefined
  isSending: boolean
  isBehind: boolean
}

/** Maximum unread bytes of events of a client. */
const UNREAD_BYTES = 262_144

type Topic = {
  readonly content: Content
  readonly streams: Set<OpenStream>
  /** New streams, which have no frame yet. */
  readonly added: Set<OpenStream>
  isWaiting: boolean
  isSending: boolean
  isDue: boolean
  sentAt: number
  gap: number
}

/** Ends a stream. A snapshot that is being sent cannot end, so its connection is cut. */
const end = ({ response, isSending }: OpenStream): void => {
  if (isSending) response.destroy()
  else response.end()
}

/** Ends streams in slices of the event loop. */
export const endEach = (streams: Iterable<OpenStream>): Promise<void> | undefined =>
  forEachSliced(streams, (stream) => attempt(stream.response, () => end(stream)))

type TopicParts = {
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  readonly onSent: (kind: Content['kind']) => void
  readonly onSlow: (kind: Content['kind']) => void
}

const bytesOf = ({ chunks }: Frame): number => chunks.reduce((sum, { length }) => sum + length, 0)

/** Frames of snapshots in memory, each with its memory and the number of streams that it is being sent to. */
const framesSent = () => {
  const sent = new Map<string, { readonly room: Pick<Lease, 'free'>; streams: number }>()
  /** Holds a frame for one more stream. Returns the function that ends this, or `undefined` if no memory is free. */
  return ({ content }: Topic, { room }: OpenStream, frame: Frame): (() => void) | undefined => {
    const key = `${content.key} ${content.namespace} ${frame.name}`
    const taken = sent.get(key)?.room ?? room(bytesOf(frame))
    if (!taken) return undefined
    const held = sent.get(key) ?? { room: taken, streams: 0 }
    sent.set(key, held)
    held.streams++
    return () => {
      if (--held.streams > 0) return
      sent.delete(key)
      held.room.free()
    }
  }
}

/** Writes chunks one after another, as the client reads, while the stream is sending. `sent` runs after the last one. */
const writeEach = (stream: OpenStream, chunks: readonly Buffer[], sent: () => void, from = 0): void => {
  const { response, isSending } = stream
  const next = (): void => attempt(response, () => writeEach(stream, chunks, sent, from + 1))
  if (from === chunks.length) sent()
  else if (isSending) response.write(chunks[from], next)
}

/**
 * Returns the function that sends a topic's frames to its streams. A frame is built once for all streams of a topic. A stream never receives
 * an earlier state after a later one.
 */
const senderOf = ({ clock, onError, onSent, onSlow }: TopicParts): ((topic: Topic) => Promise<void>) => {
  const hold = framesSent()

  const cut = ({ content: { kind } }: Topic, { response }: OpenStream): void => {
    onSlow(kind)
    response.destroy()
  }

  /**
   * Sends a snapshot as fast as the client reads, because TLS copies all waiting chunks of a connection. A client that
   * has not read the previous one receives the newest when it has.
   */
  const writeSnapshot = (topic: Topic, stream: OpenStream, frame: Frame): void => {
    const { response } = stream
    if (stream.isSending) return void (stream.isBehind = true)
    const release = hold(topic, stream, frame)
    if (!release) return cut(topic, stream)
    stream.name = frame.name
    onSent(topic.content.kind)
    stream.isSending = true
    const sent = (): void => {
      if (!stream.isSending) return
      stream.isSending = false
      response.off('close', sent)
      release()
      if (!stream.isBehind || !topic.streams.has(stream)) return
      stream.isBehind = false
      topic.added.add(stream)
      void send(topic)
    }
    response.once('close', sent)
    writeEach(stream, frame.chunks, sent)
  }

  const write = (topic: Topic, stream: OpenStream, frame: Frame): void => {
    const { response } = stream
    const { kind } = topic.content
    if (stream.name === frame.name || response.destroyed || response.writableEnded) return
    if (kind === 'snapshots') return writeSnapshot(topic, stream, frame)
    if (response.writableLength > UNREAD_BYTES) return cut(topic, stream)
    stream.name = frame.name
    onSent(kind)
    response.write(frame.chunks[0])
  }

  const sendTo = async (topic: Topic, streams: Iterable<OpenStream>): Promise<void> => {
    topic.sentAt = clock.monotonic()
    const frame = await topic.content.frame()
    topic.gap = frame && bytesOf(frame) > LARGE ? LARGE_GAP_MS : 0
    await forEachSliced(streams, (stream) => {
      const { response } = stream
      attempt(response, () => (frame ? write(topic, stream, frame) : end(stream)))
    })
  }

  /** Sends what the streams lack: after a change to all streams of the topic, otherwise to the new ones. */
  const send = async (topic: Topic): Promise<void> => {
    if (topic.isSending || topic.streams.size === 0) return
    topic.isSending = true
    try {
      while (topic.isDue || topic.added.size > 0) {
        const isForAll = topic.isDue && !topic.isWaiting
        if (!isForAll && topic.added.size === 0) break
        if (isForAll) topic.isDue = false
        const added = [...topic.added]
        topic.added.clear()
        await sendTo(topic, isForAll ? topic.streams : added)
      }
    } catch (error) {
      onError(error)
      await endEach(topic.streams)
    } finally {
      topic.isSending = false
    }
  }
  return send
}

/** Streams by the namespace and form of their content. Changes of a namespace within 50 ms become one frame. */
export const topicsOf = (parts: TopicParts) => {
  const { clock } = parts
  const send = senderOf(parts)
  const byNamespace = new Map<string, Map<string, Topic>>()

  const changed = (topic: Topic): void => {
    topic.isDue = true
    if (topic.isWaiting) return
    topic.isWaiting = true
    const rest = topic.sentAt + topic.gap - clock.monotonic()
    clock.after(Math.max(JOIN_MS, rest), () => {
      topic.isWaiting = false
      void send(topic)
    })
  }

  const topicOf = (content: Content): Topic => {
    const { namespace, key } = content
    const topics = byNamespace.get(namespace) ?? new Map<string, Topic>()
    byNamespace.set(namespace, topics)
    const begun = { isWaiting: false, isSending: false, isDue: false, sentAt: Number.NEGATIVE_INFINITY, gap: 0 }
    const topic = topics.get(key) ?? { content, streams: new Set(), added: new Set(), ...begun }
    topics.set(key, topic)
    return topic
  }

  return {
    /** Adds a stream, which receives the present frame unless it has it already. Returns the function that removes it. */
    add: (content: Content, stream: OpenStream, isCurrent: boolean): (() => void) => {
      const topic = topicOf(content)
      topic.streams.add(stream)
      if (!isCurrent) {
        topic.added.add(stream)
        void send(topic)
      }
      return () => {
        topic.streams.delete(stream)
        topic.added.delete(stream)
        const topics = byNamespace.get(content.namespace)
        if (topic.streams.size > 0 || topics?.get(content.key) !== topic) return
        topics.delete(content.key)
        if (topics.size === 0) byNamespace.delete(content.namespace)
      }
    },
    /** Announces a change of the flags or segments of a namespace. */
    changed: (namespace: string): void => {
      for (const topic of byNamespace.get(namespace)?.values() ?? []) changed(topic)
    },
  }
}
