import type { Test } from 'tap'
import type { Server } from '../adapters/servers.ts'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { clusterSettings, oidcSettings, PUBLIC } from '../http/people.ts'
import { linkTo, type Mode, type Proxy } from '../stand-ins/proxy.ts'
import { startService } from '../start.ts'
import { walkingClock } from '../walking-clock.ts'
import { lacking } from './named-servers.ts'
import { type Controls, startStack } from './stack.ts'

export const backends = ['eventstore', 'mongodb', 'redis', 'provider', 'orchestrator'] as const
export type Backend = (typeof backends)[number]

/** Fault of a server or of its connection, and its repair. */
export type Fault = {
  readonly name: string
  readonly begin: () => Promise<unknown>
  readonly end: () => Promise<unknown>
}

const onLink = (link: Proxy, ...modes: readonly Mode[]): readonly Fault[] =>
  modes.map((mode) => ({ name: mode, begin: () => link.set(mode), end: () => link.set('pass') }))

const onProcess = (server: Server | null): readonly Fault[] =>
  server
    ? [
        { name: 'SIGKILL', begin: server.kill, end: server.start },
        { name: 'SIGSTOP', begin: async () => server.freeze(), end: async () => server.thaw() },
      ]
    : []
const onStandIn = (control: Controls['eventstore'] | null): readonly Fault[] =>
  control
    ? [
        { name: 'SIGKILL', begin: async () => control.kill(), end: control.restart },
        { name: 'hang', begin: async () => control.hang(true), end: async () => control.hang(false) },
      ]
    : []

/**
 * Starts two instances on the same servers with all faults: `a` uses a proxy per server, `b` the servers directly.
 * Their clocks run; `clock` is that of `a`. Without servers returns the reason.
 */
export const startFaulty = async (t: Test) => {
  const { stack, skip } = await startStack(t)
  if (!stack) return { skip }
  for (const server of ['eventstore', 'mongodb', 'redis'] as const) {
    const uncontrolled = lacking({ [server]: 'ends and hangs it' })
    if (uncontrolled) t.pass(`faults of the process of ${server}`, { skip: uncontrolled })
  }
  // The provider uses the system clock.
  const clock = walkingClock(t, new Date().toISOString())
  const [liar, orchestrator] = [await lyingProvider(t), await clusterStandIn(t)]
  const events = await linkTo(t, stack.settings['eventstore.url']!)
  const [mongo, redis] = [
    await linkTo(t, stack.settings['mongodb.url']!),
    await linkTo(t, stack.settings['redis.url']!),
  ]
  const [provider, api] = [await linkTo(t, liar.url), await linkTo(t, orchestrator.url)]
  const { url: issuer } = provider
  liar.lies = {
    document: { issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` },
    claims: { iss: issuer },
  }

  const settings = { ...stack.settings, 'rate_limit.enabled': 'false', 'server.public_url': PUBLIC }
  const b = await startService(t, settings, { clock: walkingClock(t, clock.now().toISOString()) })
  const settingsOfA = {
    ...settings,
    'eventstore.url': events.url,
    'mongodb.url': mongo.url,
    'redis.url': redis.url,
    ...oidcSettings('main', issuer, lyingClient),
    ...clusterSettings({ ...orchestrator, url: api.url }),
  }
  const a = await startService(t, settingsOfA, { clock })
  const faults: Readonly<Record<Backend, readonly Fault[]>> = {
    eventstore: [...onStandIn(stack.eventstore), ...onLink(events.link, 'blackhole', 'reset', 'garbage')],
    mongodb: [...onProcess(stack.mongodb), ...onLink(mongo.link, 'blackhole', 'reset', 'garbage')],
    redis: [...onProcess(stack.redis), ...onLink(redis.link, 'blackhole', 'reset', 'garbage')],
    provider: onLink(provider.link, 'refuse', 'blackhole', 'reset', 'garbage'),
    orchestrator: onLink(api.link, 'refuse', 'blackhole', 'reset', 'garbage'),
  }
  return { a, b, clock, serviceAccountToken: () => orchestrator.token(), faults, skip: false } as const
}
