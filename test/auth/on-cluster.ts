import type { Test } from 'tap'
import {
  type Orchestrator,
  type OrchestratorSettings,
  orchestrator,
} from '../../src/auth/service-accounts/orchestrator.ts'
import { virtualClock } from '../virtual-clock.ts'
import { directly } from './directly.ts'
import { clusterStandIn } from './stand-ins/cluster.ts'

/** A cluster with a virtual clock, so that no timeout interferes. */
export const begin = async (t: Test) => {
  const clock = virtualClock()
  const seconds = () => Math.floor(clock.now().getTime() / 1000)
  return Object.assign(await clusterStandIn(t, clock.now), { clock, seconds })
}
export type Cluster = Awaited<ReturnType<typeof begin>>

/** The orchestrator under test, with settings that override the defaults. */
export const open = (cluster: Cluster, more: Partial<OrchestratorSettings> = {}): Orchestrator => {
  const ready = orchestrator({
    ...directly,
    clock: cluster.clock,
    verification: 'token_review',
    discoveryUrl: cluster.url,
    audiences: [],
    issuers: [],
    maxLifetime: undefined,
    userAgent: 'rollcall/1.2.3',
    allowed: [],
    caPath: cluster.caPath,
    tokenPath: cluster.tokenPath,
    ...more,
  })
  return { verify: async (token, address) => (await ready).verify(token, address) }
}
