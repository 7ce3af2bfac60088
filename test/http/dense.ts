import type { Started } from '../start.ts'

type Schema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly maxProperties?: number
}
type Route = { readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> } }

/** Bodies of maximum size and density. */
export const dense = (limit: number): Readonly<Record<string, string>> => {
  const filled = (start: string, unit: string): string =>
    start + unit.repeat(Math.floor((limit - start.length - 2) / unit.length)) + '"}'
  const items = (item: string) =>
    Array.from({ length: Math.floor(Math.min(49_000, (limit - 100) / 4) / item.length) }, () => item).join(',')
  return {
    members: filled(`{"x":[${items('1')}],"y":"`, String.raw`\u00e9`),
    depth: filled(`{"x":[${items('[[[[[[[[]]]]]]]]')}],"y":"`, 'é'),
    text: filled('{"y":"', String.raw`\"`),
  }
}

/** Value for each member of a schema that fills the rest of the body. */
const large = ({ type, properties, items, maxProperties = 20_000 }: Schema, room: number): unknown => {
  if (properties) {
    const members = Object.entries(properties)
    return Object.fromEntries(
      members.map(([name, member]) => [name, member.enum ? member.enum[0] : large(member, room / members.length)]),
    )
  }
  if (type === 'array')
    return Array.from({ length: Math.min(20_000, Math.floor(room / 8)) }, () =>
      items?.type === 'string' ? 'xxxx' : {},
    )
  if (type === 'object') {
    const count = Math.min(maxProperties, Math.floor(room / 16))
    const value = 'v'.repeat(Math.floor(room / count) - 15)
    return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]))
  }
  if (type === 'boolean') return true
  return type === 'string' ? 'x'.repeat(Math.max(0, Math.floor(room) - 40)) : 1
}

/** Request and the reason for its body. */
export type Try = {
  readonly route: string
  readonly why: string
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** Streams without an end. */
const STREAMS = /^\/ofrep\/v1\/events$|\/stream$/

/** Requests to every route but streams, with the worst bodies. The one that ends our own token is last. */
export const everyRoute = async ({ request }: Pick<Started, 'request'>): Promise<readonly Try[]> => {
  const { json } = await request<{ paths: Record<string, Record<string, Route>> }>('GET', '/openapi.json')
  const paths = Object.entries(json.paths)
    .filter(([template]) => !STREAMS.test(template))
    .toSorted(([one], [other]) => Number(one.endsWith('/expire')) - Number(other.endsWith('/expire')))
  return paths.flatMap(([template, verbs]) => {
    const path = template
      .replace('{namespaceKey}', 'default')
      .replace(/\{(flagKey|key)\}/, 'flag-1')
      .replaceAll(/\{\w+\}/g, 'none')
    const limit = template.startsWith('/auth/') ? 65_536 : 4_194_304
    return Object.entries(verbs).flatMap(([verb, { requestBody }]): Try[] => {
      const method = verb.toUpperCase()
      const one = { route: `${method} ${template}`, method, path }
      const schema = requestBody?.content['application/json']?.schema
      const bodies = method === 'POST' || method === 'PUT' ? Object.entries(dense(limit)) : []
      return [
        ...(method === 'GET' ? [{ ...one, why: 'nothing' }] : []),
        ...bodies.map(([why, body]) => ({ ...one, why, body })),
        ...(schema ? [{ ...one, why: 'every member', body: large(schema, limit - 1_000) }] : []),
      ]
    })
  })
}
