import type { ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { forEachSliced } from '../../base/event-loop.ts'
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

/** One open stream. `name`: its newest frame; `unsent`: frames that the client has not taken. */
export type OpenStream = { readonly response: ServerResponse; name: string | undefined; unsent: number }

/** Limits of unread data of a client: bytes of events, or number of snapshots. */
const [UNREAD_BYTES, UNREAD_FRAMES] = [262_144, 2]

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

/** Ends streams in slices of the event loop. */
export const endEach = (streams: Iterable<OpenStream>): Promise<void> | undefined =>
  forEachSliced(streams, ({ response }) => attempt(response, () => response.end()))

type TopicParts = {
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  readonly onSent: (kind: Content['kind']) => void
  readonly onSlow: (kind: Content['kind']) => void
}

/**
 * Returns the function that sends a topic's frames to its streams. A frame is built once for all streams of a topic. A stream never receives
 * an earlier state after a later one.
 */
const senderOf = ({ clock, onError, onSent, onSlow }: TopicParts): ((topic: Topic) => Promise<void>) => {
  const isSlow = ({ content: { kind } }: Topic, { response, unsent }: OpenStream): boolean =>
    kind === 'events' ? response.writableLength > UNREAD_BYTES : unsent >= UNREAD_FRAMES

  const write = (topic: Topic, stream: OpenStream, { name, chunks }: Frame): void => {
    const { response } = stream
    const { kind } = topic.content
    if (stream.name === name || response.destroyed || response.writableEnded) return
    if (isSlow(topic, stream)) {
      onSlow(kind)
      response.destroy()
      return
    }
    stream.name = name
    onSent(kind)
    if (kind === 'events') return void response.write(chunks[0])
    stream.unsent++
    for (const [n, chunk] of chunks.entries())
      if (n < chunks.length - 1) response.write(chunk)
      else response.write(chunk, () => stream.unsent--)
  }

  const sendTo = async (topic: Topic, streams: Iterable<OpenStream>): Promise<void> => {
    topic.sentAt = clock.monotonic()
    const frame = await topic.content.frame()
    topic.gap = frame && frame.chunks.reduce((sum, { length }) => sum + length, 0) > LARGE ? LARGE_GAP_MS : 0
    await forEachSliced(streams, (stream) => {
      const { response } = stream
      attempt(response, () => (frame ? write(topic, stream, frame) : response.end()))
    })
  }

  /** Sends what the streams lack: after a change to all streams of the topic, otherwise to the new ones. */
  return async (topic) => {
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
