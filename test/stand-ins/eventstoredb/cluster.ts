import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type grpc from '@grpc/grpc-js'
import type { Clock } from '../../../src/clock.ts'
import { beginning, type Law } from './law.ts'
import { type Failure, failure, uuid } from './wire.ts'

const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState
const METHODS = ['read', 'append', 'batchappend', 'delete', 'tombstone']

/**
 * The ports of the nodes of a cluster, all on one law, and which of them leads. `ahead`: so many milliseconds after its followers
 * delivered an event the leader shows it to reads and to its own subscribers, and acknowledges it.
 */
export type Cluster = { leader: number; readonly ports: Set<number>; readonly ahead?: number }

/** What a leader shows whose followers are ahead of it. */
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

/** What a node says that is asked for what only the leader may do. */
export const elsewhere = (metadata: grpc.Metadata, node: number, cluster: Cluster): Failure | undefined => {
  if (metadata.get('requires-leader')[0] !== 'true' || cluster.leader === node) return undefined
  return failure(5, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(cluster.leader),
  })
}

/** Tells which nodes there are, as the client's discovery asks. */
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

/** Tells what the server can do; batch append is among it, as with every server of today. */
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
