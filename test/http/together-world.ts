import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { maker } from './flags.ts'
import type { Issued } from './people.ts'
import type { watchedService } from './watching.ts'

type Service = Awaited<ReturnType<typeof watchedService>>

/** Parts of the changed flag, and members of a change: their product is the maximum. */
const [PARTS, MEMBERS] = [1_000, 160]
const FLAGS = 300
/** Namespaces of a token with many grants, and number of such tokens per round. */
const [PLACES, HOLDERS] = [64, 20]
/** Networks that send a wrong credential per round, and their connections. */
const [NETWORKS, CONNECTIONS] = [2_000, 10]
const DEFAULT = '/api/v1/namespaces/default'

/** Clients are identified by the forwarded address; honest ones are not limited. The quota of token rights is small. */
export const settings = {
  'server.trust_proxy': 'true',
  'rate_limit.client': '0',
  'quotas.grant_bytes_per_credential': '65536',
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Service with flags (one with many parts, one with a large answer), its users and its attackers. */
export const worldOf = async ({ request, url }: Service) => {
  const insist = async (...args: Parameters<Service['request']>) => {
    const answer = await request(...args)
    if (answer.status !== 200) throw new Error(`${args[0]} ${args[1]}: ${answer.status} ${answer.text.slice(0, 200)}`)
    return answer.json as never
  }
  const make = maker({ request })
  await make.segment('all')
  await make.variantFlag('large')
  const id = await make.variant('large', 'large', JSON.stringify('x'.repeat(100_000)))
  await make.rule('large', { segmentKey: 'all' }, { [id]: 100 })
  await make.boolean('many')
  for (let made = 0; made < PARTS; made += 100) {
    const changes = Array.from({ length: 100 }, (_, n) => ({
      op: 'rollout.create',
      threshold: { percentage: n % 2, value: true },
    }))
    await insist('POST', `${DEFAULT}/flags/many/changes`, { changes })
  }
  const rollouts: unknown = await insist('GET', `${DEFAULT}/flags/many/rollouts?limit=1000`)
  const parts = (rollouts as { readonly rules: readonly { readonly id: string }[] }).rules.map((part) => part.id)
  for (let n = 0; n < FLAGS; n++) await make.boolean(`flag-${n}`)
  const given = async (body: object, headers = {}) =>
    ((await insist('POST', '/auth/v1/method/token', body, headers)) as Issued).clientToken
  const grant = (role: string) => ({ grants: [{ namespaceKey: 'default', role }] })
  for (let n = 0; n < PLACES; n++) await insist('POST', '/api/v1/namespaces', { key: `place-${n}`, name: `Place ${n}` })
  const admin = await given({ name: 'maker', role: 'admin' })
  return {
    url,
    request,
    large: { flagKey: 'large', entityId: 'e' },
    parts: parts.slice(0, MEMBERS),
    admin,
    published: await given({ name: 'published', ...grant('client') }),
    editor: await given({ name: 'editor', ...grant('editor') }),
    // Created by one token, so that they share a holder.
    viewers: await Promise.all(
      Array.from({ length: 16 }, () => given({ name: 'viewer', ...grant('viewer') }, bearer(admin))),
    ),
    honest: await given({ name: 'honest', ...grant('client') }),
  }
}
export type World = Awaited<ReturnType<typeof worldOf>>

type Raw = { readonly method: string; readonly path: string; readonly token?: string; readonly body?: string }

const connected = async ({ url }: World): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect').catch(() => undefined)
  socket.pause()
  return socket
}

/** Sends a wrong credential from each of many networks over one connection and reads the answers. */
const fromNetworks = async (world: World, first: number, count: number): Promise<void> => {
  const socket = await connected(world)
  const requests = Array.from({ length: count }, (_, n) => {
    const network = (first + n).toString(16).padStart(8, '0')
    return [
      'GET /auth/v1/self HTTP/1.1',
      'host: h',
      'authorization: Bearer wrong',
      `x-forwarded-for: 2001:${network.slice(0, 4)}:${network.slice(4)}::1`,
      ...(n === count - 1 ? ['connection: close'] : []),
    ].join('\r\n')
  })
  const closed = once(socket, 'close')
  socket.write(`${requests.join('\r\n\r\n')}\r\n\r\n`)
  socket.resume()
  await closed
}

/** Sends a request and does not read the answer. `cut`: bytes at the end that are not sent. */
const sent = async (world: World, { method, path, token, body = '' }: Raw, cut = 0): Promise<Socket> => {
  const socket = await connected(world)
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: h',
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`]),
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, body.length - cut)}`)
  return socket
}

/** One round of each attack by legal requests; returns the connections to keep open during the round. */
export const attacks = (world: World): Readonly<Record<string, (round: number) => Promise<readonly Socket[]>>> => {
  const { request, admin, published, editor, viewers, large, parts } = world
  const times = (count: number, one: (n: number) => Promise<Socket>) =>
    Promise.all(Array.from({ length: count }, (_, n) => one(n)))
  const asked = async (calls: readonly Promise<unknown>[]) => {
    await Promise.all(calls)
    return []
  }
  const batch = JSON.stringify({ requests: Array.from({ length: 35 }, () => large) })
  return {
    'batch answers that nobody takes': () =>
      times(16, () => sent(world, { method: 'POST', path: '/evaluate/v1/batch', token: published, body: batch })),
    'names that are asked again and again': () => {
      const context = {
        targetingKey: 'e',
        flags: Array.from({ length: 1_000 }, (_, n) => `flag-${n % FLAGS}`).join(','),
      }
      return asked([request('POST', '/ofrep/v1/evaluate/flags', { context }, bearer(published))])
    },
    'bodies that lack their last byte': () =>
      times(30, () =>
        sent(
          world,
          { method: 'POST', path: `${DEFAULT}/flags`, token: editor, body: `{"key":"${'x'.repeat(2_000_000)}"}` },
          1,
        ),
      ),
    'paths of many slashes': () => times(4, () => sent(world, { method: 'GET', path: '/'.repeat(15_000) })),
    'changes of nothing under new keys': (round) =>
      asked(
        Array.from({ length: 4 }, (_, n) =>
          request(
            'POST',
            `${DEFAULT}/flags/many/changes`,
            { changes: [{ op: 'flag.update', description: '' }] },
            { ...bearer(editor), 'idempotency-key': `"${round}-${n}"` },
          ),
        ),
      ),
    'changes of many parts': (round) =>
      asked([
        request(
          'POST',
          `${DEFAULT}/flags/many/changes`,
          { changes: parts.map((id) => ({ op: 'rollout.update', id, description: `${round}` })) },
          bearer(editor),
        ),
      ]),
    'sorted lists of the past by one holder': () =>
      asked(
        viewers.map((token) =>
          request(
            'GET',
            `${DEFAULT}/flags?sort=name&include=targeting&at=${encodeURIComponent(new Date().toISOString())}`,
            undefined,
            bearer(token),
          ),
        ),
      ),
    'wrong credentials of many networks': async (round) => {
      const each = NETWORKS / CONNECTIONS
      const begun = Array.from({ length: CONNECTIONS }, (_, n) =>
        fromNetworks(world, round * NETWORKS + n * each, each),
      )
      await Promise.all(begun)
      return []
    },
    'tokens of many grants': async (round) => {
      const create = (n: number) => {
        const grants = Array.from({ length: PLACES }, (_, at) => ({
          namespaceKey: `place-${at}`,
          role: (n >> (at % 16)) % 2 === 0 ? 'viewer' : 'editor',
        }))
        return request('POST', '/auth/v1/method/token', { name: `${n}`, grants }, bearer(admin))
      }
      return asked(Array.from({ length: HOLDERS }, (_, n) => create(round * HOLDERS + n)))
    },
    'long lists': () =>
      asked(
        Array.from({ length: 4 }, () =>
          request('GET', `${DEFAULT}/flags?limit=1000&sort=name&include=targeting`, undefined, bearer(viewers[0]!)),
        ),
      ),
  }
}

/** Evaluates flags until the end; returns the status codes of all answers. */
export const evaluating = async ({ request, honest }: World, isOver: () => boolean) => {
  const statuses: number[] = []
  for (let n = 0; !isOver(); n++) {
    const body = { flagKey: `flag-${n % FLAGS}`, entityId: `e${n}` }
    const { status } = await request('POST', '/evaluate/v1/boolean', body, bearer(honest))
    statuses.push(status)
  }
  return statuses
}

/**
 * Lists tokens, reviews access, creates and revokes a token until the end; returns unexpected answers and the number of
 * rounds.
 */
export const administering = async ({ request }: World, isOver: () => boolean) => {
  const wrong: string[] = []
  let rounds = 0
  /** Repeats a read that a slow machine answers with `view_behind`, like any client. */
  const ask = async (...args: Parameters<World['request']>) => {
    let answer = await request(...args)
    while (args[0] === 'GET' && answer.status === 503 && /"view_behind"/.test(answer.text))
      answer = await request(...args)
    if (answer.status !== 200) wrong.push(`${args[0]} ${args[1]}: ${answer.status} ${answer.text.slice(0, 200)}`)
    return answer.json as never
  }
  for (; !isOver(); rounds++) {
    await ask('GET', '/auth/v1/tokens?limit=10')
    await ask('GET', '/audit/v1/access?right=flag.update&namespaceKey=default')
    const { authentication } = (await ask('POST', '/auth/v1/method/token', { name: `t${rounds}` })) as Issued
    await ask('DELETE', `/auth/v1/tokens/${authentication.id}`)
  }
  return { wrong, rounds }
}
