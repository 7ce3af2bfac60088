import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type grpc from '@grpc/grpc-js'
import type { Law, Recorded } from './law.ts'
import {
  caughtUp,
  checkpoint,
  confirmation,
  type Failure,
  failure,
  nameOf,
  notFound,
  readEvent,
  streamDeleted,
  thrown,
  tooSlow,
} from './wire.ts'

export type ReadCall = grpc.ServerWritableStream<Streams.ReadReq, Streams.ReadResp>
type Options = Streams.ReadReq.Options

const isBackwards = (options: Options): boolean =>
  options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS

/** Source of events by index. */
type Source = { readonly at: (index: number) => Recorded | undefined; readonly first: number }

/**
 * Maximum number of pending events of a live subscriber before it is dropped; a real server drops between 200 and 500.
 */
const SLOW = 400
const WINDOW = 32

/** State of subscriptions: whether they are silent, and how to drop them. */
export type Followers = { silent: boolean; readonly drops: Set<(why: Failure) => void> }

const sleepUntil = (call: ReadCall, law: Law, followers: Followers): Promise<Failure | undefined> =>
  new Promise((resolve) => {
    const done = (why?: Failure) => {
      law.appended.off('event', wake)
      call.off('cancelled', wake)
      followers.drops.delete(done)
      resolve(why)
    }
    const wake = () => done()
    law.appended.on('event', wake)
    call.on('cancelled', wake)
    followers.drops.add(done)
  })

const push = async (call: ReadCall, message: Streams.ReadResp): Promise<void> => {
  if (call.write(message) || call.cancelled) return
  await new Promise<void>((resolve) => {
    const done = () => {
      call.off('drain', done)
      call.off('cancelled', done)
      resolve()
    }
    call.on('drain', done)
    call.on('cancelled', done)
  })
}

const streamSource = (law: Law, options: Options, subscribed: boolean): Source | Failure | 'missing' => {
  const asked = options.getStream()!
  const name = nameOf(asked.getStreamIdentifier())
  const back = isBackwards(options)
  const { events, from, missing, tombstone } = law.shown(name)
  if (tombstone) return streamDeleted(name)
  if (!subscribed && (options.getCount() === '0' || (asked.hasEnd() && !back)))
    return failure(2, 'Unexpected ReadStreamResult: Error')
  if (!subscribed && missing) return 'missing'
  const at = (index: number) => {
    const now = law.shown(name)
    if (index < now.from) return undefined
    return (
      now.events[index] ??
      (now.tombstone && index === now.events.length
        ? law.all.find((e) => e.stream === name && e.type === '$streamDeleted')
        : undefined)
    )
  }
  if (asked.hasStart()) return { at, first: back ? 0 : from }
  if (asked.hasEnd()) return { at, first: back ? events.length - 1 : events.length }
  const revision = Number(BigInt(asked.getRevision()))
  if (back) return { at, first: Math.min(revision, events.length - 1) }
  return { at, first: Math.max(subscribed ? revision + 1 : revision, from) }
}

const allSource = (law: Law, options: Options, subscribed: boolean): Source | Failure => {
  const asked = options.getAll()!
  const back = isBackwards(options)
  const { all } = law
  const at = (index: number) => law.all[index]
  if (asked.hasStart()) return { at, first: back ? -1 : 0 }
  if (asked.hasEnd()) return { at, first: back ? all.length - 1 : all.length }
  const [commit, prepare] = [
    BigInt(asked.getPosition()!.getCommitPosition()),
    BigInt(asked.getPosition()!.getPreparePosition()),
  ]
  if (prepare > commit) return thrown()
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (all[middle]!.position < commit) low = middle + 1
    else high = middle
  }
  const exact = all[low]?.position === commit
  if (!exact && (low < all.length || back)) return subscribed ? thrown() : failure(2, 'Unexpected ReadAllResult: Error')
  if (back) return { at, first: low - 1 }
  return { at, first: subscribed && exact && commit > 0n ? low + 1 : low }
}

type Filter = { readonly matches: (event: Recorded) => boolean; readonly window: number; readonly every: number }
const filterOf = (options: Options): Filter | undefined => {
  const given = options.getFilter()
  if (!given) return undefined
  const ofStream = given.hasStreamIdentifier()
  const expression = (ofStream ? given.getStreamIdentifier() : given.getEventType())!
  const [regex, prefixes] = [expression.getRegex(), expression.getPrefixList()]
  const pattern = regex === '' ? undefined : new RegExp(regex)
  const matches = (event: Recorded) => {
    const text = ofStream ? event.stream : event.type
    return pattern ? pattern.test(text) : prefixes.some((prefix) => text.startsWith(prefix))
  }
  return { matches, window: given.hasMax() ? given.getMax() : WINDOW, every: given.getCheckpointintervalmultiplier() }
}

const linked = (law: Law, event: Recorded): Streams.ReadResp => {
  const [, revision, stream] = /^(\d+)@(.+)$/.exec(Buffer.from(event.data).toString()) ?? []
  const { events, from, missing, tombstone } = law.shown(stream ?? '')
  const target = missing || tombstone || Number(revision) < from ? undefined : events[Number(revision)]
  return readEvent(target, event)
}

/** Answers a read or subscription like a real server. */
export const read = async (call: ReadCall, law: Law, followers: Followers): Promise<Failure | undefined> => {
  const options = call.request.getOptions()!
  const subscribed = options.hasSubscription()
  const step = isBackwards(options) ? -1 : 1
  let filter: Filter | undefined
  try {
    filter = filterOf(options)
  } catch {
    return thrown()
  }
  const source = options.hasStream() ? streamSource(law, options, subscribed) : allSource(law, options, subscribed)
  if (source === 'missing') {
    call.write(notFound(nameOf(options.getStream()!.getStreamIdentifier())))
    return undefined
  }
  if ('code' in source) return source
  if (subscribed) call.write(confirmation())

  let left = subscribed ? Number.POSITIVE_INFINITY : Number(options.getCount())
  // A read of zero events of $all never ends.
  if (left === 0) return new Promise((resolve) => call.on('cancelled', () => resolve(undefined)))
  let [live, told, considered, windows] = [false, false, 0, 0]
  let before: bigint | undefined
  for (let index = source.first; !call.cancelled; ) {
    const event = source.at(index)
    if (!event || (live && followers.silent)) {
      if (!subscribed) return undefined
      // A subscription to a missing stream catches up only after its first event.
      if (!told && (!options.hasStream() || !law.shown(nameOf(options.getStream()!.getStreamIdentifier())).missing)) {
        call.write(caughtUp())
        told = true
      }
      if (!live) considered = 0
      live = true
      const why = await sleepUntil(call, law, followers)
      if (why) return why
      continue
    }
    if (live && source.at(index + SLOW)) return tooSlow()
    // A full catch-up page is reported with its start position.
    if (
      subscribed &&
      filter &&
      !live &&
      considered % filter.window === 0 &&
      source.at(index + filter.window - 1) &&
      ++windows % filter.every === 0
    )
      await push(call, checkpoint(before ?? 0n, 0n))
    if (!filter || filter.matches(event)) {
      await push(call, event.type === '$>' && options.getResolveLinks() ? linked(law, event) : readEvent(event))
      if (--left === 0) return undefined
    }
    if (event.type === '$streamDeleted' && options.hasStream()) return streamDeleted(event.stream)
    considered++
    if (live && filter && considered % (filter.window * filter.every) === 0)
      await push(call, checkpoint(event.position, event.position))
    before = event.position
    index += step
  }
  return undefined
}
