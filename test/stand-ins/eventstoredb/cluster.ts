import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type grpc from '@grpc/grpc-js'
import type { Clock } from '../../../src/base/clock.ts'
import { beginning, type Law } from './law.ts'
import { type Failure, failure, uuid } from './wire.ts'

const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState
const METHODS = ['read', 'append', 'batchappend', 'delete', 'tombstone']

/**
 * Cluster of nodes with one log, and its leader. With `ahead`, the leader shows an event to reads and subscribers and
 * acknowledges it that many ms after its followers have delivered it.
 */
export type Cluster = { leader: number; readonly ports: Set<number>; readonly ahead?: number }

/** Visible log of a leader whose followers are ahead. */
export const behind = (law: Law, ahead: number, clock: Pick<Clock, 'now'>): Law => {
  let kept = beginning(law, 0)
  const now = () => {
    const until = BigInt(clock.now().getTime() - ahead) * 10_000n
    let count = kept.all.length
    while (count < law.all.length && law.all[count]!.created <= until) count++
    if (count > kept.all.length) kept = beginning(law, count)
    return kept
  }
  return {
    ...law,
    get all() {
      return now().all
    },
    shown: (name) => now().shown(name),
  }
}

/** Failure of a node that is not the leader for a call that requires one. */
export const elsewhere = (metadata: grpc.Metadata, node: number, cluster: Cluster): Failure | undefined => {
  if (metadata.get('requires-leader')[0] !== 'true' || cluster.leader === node) return undefined
  return failure(5, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(cluster.leader),
  })
}

/** Answers the gossip request of the client's discovery. */
export const members =
  (cluster: Cluster, clock: Pick<Clock, 'now'>) => (_: unknown, done: grpc.sendUnaryData<unknown>) => {
    const answer = new gossip.ClusterInfo()
    for (const node of cluster.ports) {
      const [member, endpoint] = [new gossip.MemberInfo(), new gossip.EndPoint()]
      endpoint.setAddress('127.0.0.1')
      endpoint.setPort(node)
      member.setInstanceId(uuid(crypto.randomUUID()))
      member.setTimeStamp(String(clock.now().getTime()))
      member.setState(node === cluster.leader ? LEADER : FOLLOWER)
      member.setIsAlive(true)
      member.setHttpEndPoint(endpoint)
      answer.addMembers(member)
    }
    done(null, answer)
  }

/** Answers the supported methods, including batch append, as every current server does. */
export const supportedMethods = (_: unknown, done: grpc.sendUnaryData<unknown>) => {
  const answer = new features.SupportedMethods()
  answer.setEventStoreServerVersion('23.10.6')
  for (const name of METHODS) {
    const method = new features.SupportedMethod()
    method.setServiceName('event_store.client.streams.streams')
    method.setMethodName(name)
    answer.addMethods(method)
  }
  done(null, answer)
}
