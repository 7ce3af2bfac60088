import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { generate } from 'selfsigned'
import type { RedisPlace } from '../../src/adapters/redis/address.ts'
import { freePort } from '../free-port.ts'
import { eventually } from '../wait.ts'
import { IN_MEMORY, type Owner, redisWith, type Server } from './servers.ts'

const portOf = ({ url }: Server): number => Number(new URL(url).port)

/** Waits for a condition. */
const becomes = (what: string, holds: () => Promise<boolean>) => eventually(() => holds().catch(() => false), what)

type Topology = { readonly servers: readonly Server[]; readonly place: RedisPlace }
export type FoundTopology =
  | { readonly topology: Topology; readonly skip: false }
  | { readonly topology?: undefined; readonly skip: string }

const hosts = (servers: readonly Server[]): string => servers.map((server) => `127.0.0.1:${portOf(server)}`).join(',')

/** Three masters on loopback that share the slots. */
export const redisCluster = async (t: Owner): Promise<FoundTopology> => {
  const servers: Server[] = []
  const buses: number[] = []
  for (let n = 0; n < 3; n++) {
    const bus = await freePort()
    const options = ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, '--cluster-node-timeout', '1000']
    const { server, skip } = await redisWith(t, (port) => ['--port', `${port}`, ...IN_MEMORY, ...options])
    if (!server) return { skip }
    servers.push(server)
    buses.push(bus)
  }
  const admins = servers.map(({ url }) => new Redis(url))
  const [first, ...others] = admins
  for (const [n, admin] of admins.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', n + 1)
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', Math.ceil((n * 16_384) / 3), Math.ceil(((n + 1) * 16_384) / 3) - 1)
  }
  for (const n of others.keys())
    await first!.call('CLUSTER', 'MEET', '127.0.0.1', portOf(servers[n + 1]!), buses[n + 1]!)
  await becomes('the cluster is whole', async () => {
    const told = await Promise.all(admins.map((admin) => admin.cluster('INFO')))
    return told.every((info) => /cluster_state:ok/.test(info) && /cluster_known_nodes:3/.test(info))
  })
  for (const admin of admins) admin.disconnect()
  const place = { url: `redis://${hosts(servers.slice(0, 2))}`, mode: 'cluster' } as const
  return { topology: { servers, place }, skip: false }
}

/** Password of the servers behind Sentinels; the Sentinels have another one. */
export const REDIS_SECRET = 'of/the@server'
const WATCHWORD = 'of the sentinels'

/** A primary, its replica, and three Sentinels that watch them; all require passwords. */
export const redisSentinels = async (t: Owner): Promise<FoundTopology> => {
  const secured = [...IN_MEMORY, '--requirepass', REDIS_SECRET, '--masterauth', REDIS_SECRET]
  const primary = await redisWith(t, (port) => ['--port', `${port}`, ...secured])
  if (!primary.server) return { skip: primary.skip }
  const { server } = primary
  const follow = ['--replicaof', `127.0.0.1 ${portOf(server)}`]
  const replica = await redisWith(t, (port) => ['--port', `${port}`, ...secured, ...follow])
  const sentinels: Server[] = []
  for (let n = 0; n < 3; n++) {
    const { server: sentinel } = await redisWith(t, (port, directory) => {
      const file = join(directory, 'sentinel.conf')
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `requirepass "${WATCHWORD}"`,
        `sentinel sentinel-pass "${WATCHWORD}"`,
        `sentinel monitor store 127.0.0.1 ${portOf(server)} 2`,
        `sentinel auth-pass store ${REDIS_SECRET}`,
        'sentinel down-after-milliseconds store 500',
        'sentinel failover-timeout store 2000',
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      return [file, '--sentinel']
    })
    sentinels.push(sentinel!)
  }
  const asked = new Redis(sentinels[0]!.url, { password: WATCHWORD })
  await becomes('the Sentinels know the replica and one another', async () => {
    const text = JSON.stringify(await asked.call('SENTINEL', 'MASTER', 'store'))
    return /"num-slaves","1"/.test(text) && /"num-other-sentinels","2"/.test(text)
  })
  asked.disconnect()
  const place = {
    url: `redis://:${encodeURIComponent(REDIS_SECRET)}@${hosts(sentinels)}`,
    mode: 'sentinel',
    master: 'store',
    sentinel_password: WATCHWORD,
  } as const
  return { topology: { servers: [server, replica.server!, ...sentinels], place }, skip: false }
}

/** A server that accepts only TLS and requires a client certificate. */
export const redisTls = async (t: Owner): Promise<FoundTopology> => {
  const pair = await generate([{ name: 'commonName', value: 'redis' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  })
  const files = { cert: '', key: '' }
  const { server, skip } = await redisWith(t, (port, directory) => {
    files.cert = join(directory, 'cert.pem')
    files.key = join(directory, 'key.pem')
    writeFileSync(files.cert, pair.cert)
    writeFileSync(files.key, pair.private)
    const pem = ['--tls-cert-file', files.cert, '--tls-key-file', files.key, '--tls-ca-cert-file', files.cert]
    return ['--port', '0', '--tls-port', `${port}`, ...IN_MEMORY, ...pem]
  })
  if (!server) return { skip }
  const { cert, key } = files
  const place = { url: `rediss://127.0.0.1:${portOf(server)}`, ca_file: cert, cert_file: cert, cert_key: key }
  return { topology: { servers: [server], place }, skip: false }
}
