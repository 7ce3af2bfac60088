import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import grpc from '@grpc/grpc-js'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { behind, type Cluster, elsewhere, members, supportedMethods } from './cluster.ts'
import { cutOff } from './cut-off.ts'
import { type Law, law, type Proposed } from './law.ts'
import { type Followers, type ReadCall, read } from './read.ts'
import {
  expectedOf,
  type Failure,
  failure,
  nameOf,
  numbered,
  proposed,
  streamDeleted,
  success,
  thrown,
  tooSlow,
  unauthenticated,
  wrongVersion,
} from './wire.ts'

const APPEND_BYTES = 1_048_576
const MESSAGE_BYTES = 17 * 1_048_576
const COMMIT_TIMEOUT_MS = 2000

/** Size of an event as version 24.10 counts it. */
const recordBytes = ({ type, data, metadata }: Proposed): number => data.length + metadata.length + 2 * type.length

/** Faults of calls: a promise delays a call, a thrown failure is its answer. `after` runs when an append is done. */
export type Faults = {
  before?: (call: 'append' | 'read' | 'subscribe', stream: string) => Promise<void> | void
  after?: (stream: string) => Promise<void> | void
}
type Options = {
  /** Clock; default: the system clock. */
  readonly clock?: Clock
  readonly law?: Law
  readonly port?: number
  readonly cluster?: Cluster
  readonly faults?: Faults
  /** Server version whose append size it applies. */
  readonly release?: '23.10' | '24.10'
  /** Uses TLS and requires this `name:password` on every call. */
  readonly secured?: { readonly key: string; readonly cert: string; readonly user: string }
}
type Done<T> = grpc.sendUnaryData<T>
type Removal = grpc.ServerUnaryCall<
  Streams.DeleteReq | Streams.TombstoneReq,
  Streams.DeleteResp & Streams.TombstoneResp
>

export type StandIn = Awaited<ReturnType<typeof startEventStore>>

/**
 * Starts a server that speaks the protocol of EventStoreDB 23 with the client's own definitions, and answers as
 * recorded in observed.ndjson. Loopback only.
 */
export const startEventStore = async ({
  clock = systemClock,
  law: given,
  port = 0,
  cluster: named,
  faults = {},
  release = '24.10',
  secured,
}: Options = {}) => {
  const store = given ?? law([], clock)
  const cluster = named ?? { leader: 0, ports: new Set() }
  const led = cluster.ahead === undefined ? store : behind(store, cluster.ahead, clock)
  const followers: Followers = { silent: false, drops: new Set() }
  const counts = { append: 0, batchAppend: 0, read: 0, subscribe: 0, elsewhere: 0, gossip: 0 }
  const committing = new Set<string>()
  let bound = port
  let thaw: (() => void) | undefined
  let frozen: Promise<void> | undefined
  let alone: ReturnType<typeof cutOff> | undefined
  const server = new grpc.Server({ 'grpc.max_receive_message_length': 2 * MESSAGE_BYTES })

  const basic = secured && `Basic ${Buffer.from(secured.user).toString('base64')}`
  /** Failure of a call without credentials, or to a node that is not the leader. */
  const turnedAway = (metadata: grpc.Metadata, kind: 'append' | 'read' | 'subscribe'): Failure | undefined => {
    if (basic !== undefined && metadata.get('authorization')[0] !== basic) return unauthenticated()
    // Subscriptions may run on any node.
    const other = kind === 'subscribe' || alone ? undefined : elsewhere(metadata, bound, cluster)
    if (other) counts.elsewhere++
    return other
  }

  const append = async (
    options: Streams.AppendReq.Options,
    events: readonly (Proposed | undefined)[],
  ): Promise<Streams.AppendResp> => {
    const stream = nameOf(options.getStreamIdentifier())
    const expected = expectedOf(options)
    await faults.before?.('append', stream)
    if (stream === '' || events.includes(undefined)) throw thrown()
    const sizes = events.map((event) => event!.data.length)
    if (sizes.some((size) => size > MESSAGE_BYTES))
      throw failure(8, 'Received message exceeds the maximum configured message size.')
    const counted = release === '23.10' ? sizes : events.map((event) => recordBytes(event!))
    if (counted.reduce((sum, size) => sum + size, 0) > APPEND_BYTES)
      throw failure(3, `Maximum Append Size of ${APPEND_BYTES} Exceeded.`, {
        exception: 'maximum-append-size-exceeded',
        'maximum-append-size': String(APPEND_BYTES),
      })
    const commit = `${stream} ${events[0]?.id}`
    const unheard = alone?.append(stream, expected, events as readonly Proposed[])
    if (unheard === 'never' || committing.has(commit)) {
      await clock.sleep(COMMIT_TIMEOUT_MS)
      throw failure(10, 'Operation timed out: Commit phase timeout.')
    }
    if (unheard) return wrongVersion(unheard.wrong, unheard.current)
    committing.add(commit)
    const answer = store.append(stream, expected, events as readonly Proposed[])
    if (cluster.ahead === undefined) await new Promise((resolve) => setImmediate(resolve))
    else {
      await clock.sleep(cluster.ahead + 1)
      store.appended.emit('event')
    }
    committing.delete(commit)
    await faults.after?.(stream)
    if ('deleted' in answer) throw streamDeleted(stream)
    return 'wrong' in answer ? wrongVersion(answer.wrong, answer.current) : success(answer)
  }

  const removal = (tombstone: boolean) => (call: Removal, done: Done<Streams.DeleteResp & Streams.TombstoneResp>) => {
    const options = call.request.getOptions()!
    const stream = nameOf(options.getStreamIdentifier())
    const expected = expectedOf(options)
    const answer = store.remove(stream, expected, tombstone)
    if ('deleted' in answer) return done(streamDeleted(stream))
    if ('wrong' in answer) {
      const [wanted, actual] = [numbered(expected), String(answer.current ?? -1n)]
      const details = `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${wanted}, Actual version: ${actual}`
      const trailers = {
        exception: 'wrong-expected-version',
        'stream-name': stream,
        'expected-version': wanted,
        'actual-version': actual,
      }
      return done(failure(9, details, trailers))
    }
    const kind = tombstone ? streams.TombstoneResp : streams.DeleteResp
    const [response, position] = [new kind(), new kind.Position()]
    position.setCommitPosition(String(answer.position))
    position.setPreparePosition(String(answer.position))
    response.setPosition(position)
    done(null, response)
  }

  const answerRead = async (call: ReadCall): Promise<Failure | undefined> => {
    const options = call.request.getOptions()!
    const kind = options.hasSubscription() ? 'subscribe' : 'read'
    counts[kind]++
    await frozen
    const away = turnedAway(call.metadata, kind)
    if (away) return away
    await faults.before?.(kind, options.hasStream() ? nameOf(options.getStream()!.getStreamIdentifier()) : '$all')
    return read(call, alone?.law ?? (cluster.leader === bound ? led : store), followers)
  }

  server.addService(streamsService.StreamsService, {
    read: (call: ReadCall) => {
      const failed = (why: unknown) => call.emit('error', why)
      answerRead(call).then((why) => (why ? failed(why) : call.end()), failed)
    },
    append: (
      call: grpc.ServerReadableStream<Streams.AppendReq, Streams.AppendResp>,
      done: Done<Streams.AppendResp>,
    ) => {
      counts.append++
      const events: (Proposed | undefined)[] = []
      let options: Streams.AppendReq.Options | undefined
      call.on('data', (message: Streams.AppendReq) => {
        if (message.hasOptions()) options = message.getOptions()
        else events.push(proposed(message.getProposedMessage()!))
      })
      const finish = async () => {
        await frozen
        if (call.cancelled) return
        const away = turnedAway(call.metadata, 'append')
        if (away) return done(away)
        append(options!, events).then(
          (response) => done(null, response),
          (error: Failure) => done(error),
        )
      }
      // A call that is cancelled halfway also ends, and reports the cancellation only then. Half an append has no
      // effect.
      call.on('end', () => void setImmediate(() => void finish()))
    },
    // Advertised as by every current server, and never answered, so a client that uses it hangs.
    batchAppend: (call: grpc.ServerDuplexStream<unknown, unknown>) => {
      counts.batchAppend++
      call.on('data', () => {})
    },
    delete: removal(false),
    tombstone: removal(true),
  })

  server.addService(featuresService.ServerFeaturesService, { getSupportedMethods: supportedMethods })
  const gossip = members(cluster, clock)
  server.addService(gossipService.GossipService, {
    read: (...asked: Parameters<typeof gossip>) =>
      void (frozen ?? Promise.resolve()).then(() => {
        counts.gossip++
        gossip(...asked)
      }),
  })
  const credentials = secured
    ? grpc.ServerCredentials.createSsl(null, [
        { private_key: Buffer.from(secured.key), cert_chain: Buffer.from(secured.cert) },
      ])
    : grpc.ServerCredentials.createInsecure()

  bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => (error ? reject(error) : resolve(bound)))
  })
  cluster.ports.add(bound)
  cluster.leader ||= bound

  return {
    port: bound,
    url: secured ? `esdb://${secured.user}@127.0.0.1:${bound}` : `esdb://127.0.0.1:${bound}?tls=false`,
    law: store,
    cluster,
    faults,
    /** Number of calls by kind. */
    counts,
    /** While true, subscriptions deliver nothing. */
    silence: (silent: boolean): void => {
      followers.silent = silent
      store.appended.emit('event')
    },
    /** Hangs like after SIGSTOP, with open connections; continues like after SIGCONT. */
    freeze: (hang: boolean): void => {
      followers.silent = hang
      thaw?.()
      frozen = hang ? new Promise((resolve) => (thaw = resolve)) : undefined
      if (!hang) store.appended.emit('event')
    },
    /** Partitions the leader from the other nodes, or ends the partition. */
    cutOff: (lost: boolean): void => void (alone = lost ? cutOff(store) : undefined),
    /** The leader loses its followers, or gets them back and replicates the appends that it has accepted. */
    loseQuorum: (lost: boolean): void => {
      if (!lost) alone?.commit()
      alone = lost ? cutOff(store) : undefined
    },
    /** Drops every live subscriber as too slow. */
    drop: (): void => {
      for (const drop of followers.drops) drop(tooSlow())
    },
    /** Dies like after SIGKILL: all connections break; appended events stay in the law. */
    kill: (): void => {
      store.forget()
      server.forceShutdown()
    },
  }
}
