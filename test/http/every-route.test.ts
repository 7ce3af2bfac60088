import t from 'tap'
import type { Headers, Started } from '../start.ts'
import { bearer, everyWay, type Issued, open, refusalOf } from './people.ts'
import { alwaysGuarded, isOpen, type StatedRoute, statedRoutes } from './stated-routes.ts'

/** Request that addresses a namespace as the route requires, with otherwise void content. */
const addressed = (service: Started, { place, verb, path }: StatedRoute, namespace: string, headers: Headers) => {
  const filled = path
    .replace(place === 'path' ? /\{(namespaceKey|key|namespace)\}/ : /\{namespaceKey\}/, namespace)
    .replaceAll(/\{\w+\}/g, 'none')
  const body =
    place === 'body' ? { namespaceKey: namespace, requests: [{ namespaceKey: namespace, flagKey: 'f' }] } : {}
  const sent = place === 'header' ? { 'x-service-namespace': namespace, ...headers } : headers
  // The second parameter is refused after the access decision, so that no stream opens.
  const target = place === 'query' ? `${filled}?namespace=${namespace}&namespace=` : filled
  return service.request(verb, target, verb === 'GET' || verb === 'DELETE' ? undefined : body, sent)
}

const scopedTo = async ({ request }: Started, namespaceKey: string): Promise<Headers> => {
  const { json } = await request<Issued>('POST', '/auth/v1/method/token', { name: 'bound', namespaceKey })
  return bearer(json.clientToken)
}
const challenges: Readonly<Record<string, string>> = {
  'Bearer realm="rollcall"': 'credential_missing',
  'Bearer realm="rollcall", error="invalid_token"': 'credential_invalid',
  'Bearer error="insufficient_scope"': 'token_scoped',
}
/** Decision of the access check, from the challenge header, because error bodies differ. */
const verdictOf = ({ status, headers, text }: Awaited<ReturnType<typeof addressed>>): string => {
  if (status >= 500) return text
  if (status !== 401 && status !== 403) return 'taken'
  return challenges[headers['www-authenticate'] ?? ''] ?? text
}
/** Reasons of the login routes for an empty request. */
const own = new Set([undefined, 'state_missing', 'invalid_argument', 'not_found'])

type Operation = { readonly security: readonly object[]; readonly responses: object }

await t.test('every route is in section 3.7 of docs/api.md with the right that it requires', async (t) => {
  const { service } = await everyWay(t)
  const { json } = await service.request<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }>('GET', '/openapi.json')
  const mounted = Object.entries(json.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, { security }]) => [`${verb.toUpperCase()} ${path}`, security] as const),
  )
  const stated = statedRoutes.map((row) => {
    const scopes = row.right === 'none' ? [] : [row.right]
    const guarded = row.right === 'public' ? [] : [{ bearer: scopes }, { cookie: scopes }]
    return [`${row.verb} ${row.path}`, row.right !== 'public' && isOpen(row) ? [{}, ...guarded] : guarded] as const
  })
  t.strictSame(Object.fromEntries(mounted), Object.fromEntries(stated))
  t.equal(stated.length, mounted.length, 'each route is there once')
  // A route that requires no credential never answers 401.
  const statuses = (path: string) => Object.keys(json.paths[path]!['get']!.responses)
  t.strictSame(statuses('/auth/v1/self/session'), ['200', '429', '503'])
  t.strictSame(statuses('/auth/v1/self'), ['200', '401', '403', '503'])
})

await t.test('each route requires a credential, and limits a token for one namespace to it', async (t) => {
  const { service } = await everyWay(t)
  for (const key of ['mine', 'other']) await service.request('POST', '/api/v1/namespaces', { key, name: key })
  const [mine, ofDefault] = [await scopedTo(service, 'mine'), await scopedTo(service, 'default')]
  for (const row of statedRoutes) {
    const asks = async (namespace: string, headers: Headers) =>
      verdictOf(await addressed(service, row, namespace, headers))
    const name = `${row.verb} ${row.path}`
    if (isOpen(row)) {
      for (const headers of [open, bearer('nobody'), mine]) {
        const { status, reason } = refusalOf(await addressed(service, row, 'mine', headers))
        t.ok(status < 500 && own.has(reason), `${name}: ${status} ${reason}`)
      }
      continue
    }
    t.equal(await asks('mine', open), 'credential_missing', name)
    t.equal(await asks('mine', bearer('nobody')), 'credential_invalid', name)
    const everywhere = row.place === 'unguarded'
    const free = everywhere || ['path', 'body', 'header', 'query'].includes(row.place)
    const elsewhere = everywhere ? 'taken' : 'token_scoped'
    t.equal(await asks('mine', mine), free ? 'taken' : 'token_scoped', `${name} by a token of this namespace`)
    t.equal(await asks('other', mine), elsewhere, `${name} by a token of another namespace`)
    t.equal(await asks('none', mine), elsewhere, `${name}, whether or not the namespace exists`)
    t.equal(
      await asks('default', ofDefault),
      free || row.place === 'default' ? 'taken' : 'token_scoped',
      `${name} by a token of default`,
    )
  }
})

await t.test('a token in a request limits the request, even if no token is required', async (t) => {
  const { service } = await everyWay(t, { 'authentication.required': 'false' })
  const mine = await scopedTo(service, 'default')
  for (const row of statedRoutes.filter((each) => !isOpen(each))) {
    const name = `${row.verb} ${row.path}`
    const asks = async (headers: Headers) => verdictOf(await addressed(service, row, 'nowhere', headers))
    const always = alwaysGuarded.has(row.path)
    t.equal(await asks(open), always ? 'credential_missing' : 'taken', name)
    t.equal(await asks(bearer('nobody')), always ? 'credential_invalid' : 'taken', `${name}: unusable is as none`)
    t.equal(
      await asks(mine),
      ['unguarded', 'default'].includes(row.place) ? 'taken' : 'token_scoped',
      `${name} by a token of another namespace`,
    )
  }
})

const groups = {
  management: ({ path }: { readonly path: string }) => path.startsWith('/api/v1'),
  evaluation: ({ path }: { readonly path: string }) => /^\/(evaluate|internal|client)\//.test(path),
  ofrep: ({ path }: { readonly path: string }) => path.startsWith('/ofrep/'),
}
for (const [group, within] of Object.entries(groups)) {
  await t.test(`exclude.${group} opens that group of routes only`, async (t) => {
    const { service } = await everyWay(t, { [`authentication.exclude.${group}`]: 'true' })
    for (const row of statedRoutes.filter((each) => !isOpen(each))) {
      const verdict = verdictOf(await addressed(service, row, 'nowhere', open))
      t.equal(verdict, within(row) ? 'taken' : 'credential_missing', `${row.verb} ${row.path}`)
    }
  })
}

/** Sends a void request to each route. */
const everyRequest = async (service: Started, ask: (row: StatedRoute, filled: string) => Promise<void>) => {
  // The end of our own token comes last.
  const inOrder = statedRoutes.toSorted(
    (one, other) => Number(one.path.endsWith('/expire')) - Number(other.path.endsWith('/expire')),
  )
  for (const row of inOrder) {
    const filled = row.path.replaceAll(/\{\w+\}/g, 'none')
    await ask(row, row.place === 'query' ? `${filled}?namespace=&namespace=` : filled)
  }
  t.equal((await service.request('GET', '/livez')).status, 200)
}

await t.test('answers under /auth and /audit are not cached, and their bodies have a small limit', async (t) => {
  const { service } = await everyWay(t)
  const large = `{"x":"${'x'.repeat(65_536)}"}`
  await everyRequest(service, async ({ verb, path }, filled) => {
    const uncached = /^\/(auth|audit)\//.test(path)
    const { status } = await service.request(verb, filled, large)
    t.equal(status === 413, uncached, `${verb} ${path} with a body of 64 KiB and more: ${status}`)
    const small = await service.request(verb, filled)
    // Caches must ask again for the newest checkpoint, and keep tiles (api.md §17.3).
    const isNewest = `${verb} ${path}` === 'GET /audit/v1/ledger/checkpoint'
    if (small.status < 400)
      t.equal(
        small.headers['cache-control'],
        isNewest ? 'no-cache' : uncached ? 'no-store' : undefined,
        `${verb} ${path}`,
      )
  })
})

await t.test('a read-only instance refuses exactly the writes of flags and namespaces', async (t) => {
  const { service } = await everyWay(t, { 'storage.read_only': 'true' })
  await everyRequest(service, async ({ verb, path }, filled) => {
    const { reason } = refusalOf(await service.request(verb, `${filled}?variantId=x`, verb === 'GET' ? undefined : {}))
    const changes = verb !== 'GET' && path.startsWith('/api/v1') && !/(?:evaluate|match)$/.test(path)
    t.equal(reason === 'read_only', changes, `${verb} ${path}: ${String(reason)}`)
  })
})
