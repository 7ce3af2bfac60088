import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { walking } from '../walking-clock.ts'
import { exchangeInMemory, type Received, type Taking } from './parting-client.ts'

/** Creates flags whose lists, snapshots and exports have several chunks, also compressed. */
const fill = async ({ request }: Started): Promise<void> => {
  await request('POST', '/api/v1/segments', { key: 's', name: 's' })
  for (let n = 0; n < 40; n++) {
    const description = randomBytes(900).toString('hex')
    await request('POST', '/api/v1/flags', { key: n === 0 ? 'f' : `f${n}`, name: 'f', description })
  }
}

type Route = { readonly method: string; readonly url: string }

/** Path of a route, to something that exists unless the route deletes it. */
const pathOf = ({ method, url }: Route): string => {
  const isDeleting = method === 'DELETE'
  return url
    .replace(/(snapshot\/namespace|environments|namespaces)\/:\w+$/, isDeleting ? '$1/none' : '$1/default')
    .replaceAll(/(environments|namespaces)\/:\w+/g, '$1/default')
    .replace(/flags\/:\w+/, isDeleting ? 'flags/none' : 'flags/f')
    .replace(/segments\/:\w+/, isDeleting ? 'segments/none' : 'segments/s')
    .replaceAll(/:\w+|\*/g, 'none')
}

const EVALUATED = {
  namespaceKey: 'default',
  flagKey: 'f',
  entityId: 'e',
  requestId: 'e',
  context: { targetingKey: 'e' },
}
const BODY = JSON.stringify({ ...EVALUATED, requests: [EVALUATED] })

type Documented = {
  readonly paths: Readonly<Record<string, { readonly get?: { readonly parameters?: readonly Parameter[] } }>>
}
type Parameter = { readonly name: string; readonly in: string; readonly schema?: { readonly enum?: readonly string[] } }

/** A request without its version and the headers of its form. */
export type Asked = { readonly name: string; readonly method: string; readonly path: string; readonly body: string }

/** True if an answer without an end has its first content. */
export const isBegun = ({ method, path }: Asked, answer: string): boolean => {
  const [head = '', content = ''] = answer.split('\r\n\r\n', 2)
  if (method === 'HEAD') return false
  if (/^content-type: text\/event-stream/im.test(head)) return content.includes('\n\n')
  return path.endsWith('/stream') && content.includes('}\n')
}

/** Version and headers of a request. */
export const FORMS = ['1.0', '1.1'].flatMap((version) =>
  ['', 'Accept-Encoding: gzip\r\n'].map((accept) => ({ version, accept })),
)
export type Form = (typeof FORMS)[number]

/**
 * Starts a service, and returns its server with a request to each route of its own table, and to each form of an
 * answer that its document lists.
 */
export const everyAnswer = async (t: Test) => {
  const routes: Route[] = []
  let server: Server | undefined
  const onCreated = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance }
    server = fastify.server
    fastify.addHook('onRoute', ({ method, url, config }) => {
      if (config?.spec && !config.spec.absent) routes.push({ method: String(method), url })
    })
  }
  subscribe('fastify.initialization', onCreated)
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  unsubscribe('fastify.initialization', onCreated)
  await fill(service)

  const { paths } = (await service.request<Documented>('GET', '/openapi.json')).json
  const formatsOf = (url: string): readonly string[] => {
    const parameters = paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.get?.parameters ?? []
    return parameters.find(({ name }) => name === 'format')?.schema?.enum ?? []
  }
  const asked = routes
    .flatMap((route): readonly Asked[] => {
      const { method, url } = route
      const body = method === 'POST' || method === 'PUT' ? BODY : ''
      return ['', ...formatsOf(url).map((format) => `?format=${format}`)].map((query) => {
        const path = `${pathOf(route)}${query}`
        return { name: `${method} ${path}`, method, path, body }
      })
    })
    // The end of the own token comes last.
    .toSorted((one, other) => Number(one.path.endsWith('/expire')) - Number(other.path.endsWith('/expire')))

  const textOf = ({ method, path, body }: Asked, { version, accept }: Form): string =>
    [
      `${method} ${path} HTTP/${version}`,
      'Host: x',
      `Authorization: Bearer ${service.token}`,
      'X-Request-Id: one',
      'Connection: close',
      `Content-Length: ${body.length}`,
      `${accept}\r\n${body}`,
    ].join('\r\n')

  /** Exchanges a request in memory. Of an answer without an end, the client takes the first content. */
  const exchange = (one: Asked, form: Form, taking: Taking = {}): Promise<Received> => {
    const until = (answer: string) => isBegun(one, answer)
    const exchanged = () => exchangeInMemory(server!, textOf(one, form), { until, ...taking })
    // A checkpoint waits for a second.
    return one.method === 'POST' && one.path.endsWith('/checkpoint') ? walking([clock], exchanged) : exchanged()
  }
  return { service, asked, exchange }
}
