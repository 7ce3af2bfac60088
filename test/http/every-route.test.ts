import t from 'tap'
import type { Headers, Started } from '../start.ts'
import { bearer, everyWay, type Issued, open, refusalOf } from './people.ts'

/** Access of a namespaced token to a route, and whether a credential is needed (api.md §3.2, §3.3). */
type Reach =
  | 'public'
  | 'any'
  | 'self'
  | 'nowhere'
  | 'outside'
  | 'path'
  | 'default'
  | 'body'
  | 'nested'
  | 'header'
  | 'stream'

const N = '/api/v1/namespaces/{namespaceKey}'
/** Paths below a namespace. All except rollouts also exist without it, for `default`. */
const parts: Readonly<Record<string, string>> = {
  '/flags': 'GET POST',
  '/flags/{key}': 'GET PUT DELETE',
  '/flags/{key}/changes': 'POST',
  '/flags/{flagKey}/variants': 'POST',
  '/flags/{flagKey}/variants/{id}': 'PUT DELETE',
  '/flags/{flagKey}/rules': 'GET POST',
  '/flags/{flagKey}/rules/order': 'PUT',
  '/flags/{flagKey}/rules/{id}': 'GET PUT DELETE',
  '/flags/{flagKey}/rules/{ruleId}/distributions': 'POST',
  '/flags/{flagKey}/rules/{ruleId}/distributions/{id}': 'PUT DELETE',
  '/segments': 'GET POST',
  '/segments/{key}': 'GET PUT DELETE',
  '/segments/{key}/changes': 'POST',
  '/segments/{key}/match': 'POST',
  '/segments/{segmentKey}/constraints': 'POST',
  '/segments/{segmentKey}/constraints/{id}': 'PUT DELETE',
}
const routes: Readonly<Record<Reach, Readonly<Record<string, string>>>> = {
  public: {
    '/livez': 'GET',
    '/readyz': 'GET',
    '/health': 'GET',
    '/metrics': 'GET',
    '/openapi.json': 'GET',
    '/asyncapi.json': 'GET',
    '/auth/v1/method': 'GET',
    '/auth/v1/self/session': 'GET DELETE',
    '/auth/v1/method/oidc/{provider}/authorize': 'GET',
    '/auth/v1/method/oidc/{provider}/callback': 'GET',
    '/auth/v1/method/oidc/{provider}/post-logout': 'GET',
    '/auth/v1/method/oidc/{provider}/backchannel-logout': 'POST',
    '/auth/v1/method/codehost/authorize': 'GET',
    '/auth/v1/method/codehost/callback': 'GET',
    '/auth/v1/method/orchestrator/serviceaccount': 'POST',
  },
  any: { '/auth/v1/access': 'GET', '/auth/v1/access/check': 'GET' },
  self: { '/auth/v1/self': 'GET', '/auth/v1/self/expire': 'PUT', '/auth/v1/self/session': 'POST' },
  nowhere: {
    '/meta/info': 'GET',
    '/meta/config': 'GET',
    '/auth/v1/tokens': 'GET',
    '/auth/v1/tokens/{id}': 'GET DELETE',
    '/auth/v1/tokens/revoke': 'POST',
    '/auth/v1/sessions/find': 'POST',
    '/auth/v1/method/token': 'POST',
    '/auth/v1/roles': 'GET',
    '/audit/v1/access': 'GET',
    '/audit/v1/events': 'GET',
    '/audit/v1/events/{position}': 'GET',
    '/audit/v1/state/{category}/{id}': 'GET',
    '/audit/v1/diff': 'GET',
    '/audit/v1/histogram': 'GET',
    '/audit/v1/stats': 'GET',
    '/audit/v1/read-models/{name}': 'GET',
    '/audit/v1/tokens/find': 'POST',
    '/audit/v1/subjects/find': 'POST',
    '/audit/v1/subjects/erase': 'POST',
    '/audit/v1/ledger': 'GET',
    '/audit/v1/ledger/checkpoint': 'GET POST',
    '/audit/v1/ledger/checkpoints': 'GET',
    '/audit/v1/ledger/tile/{path}': 'GET',
    '/audit/v1/ledger/proof/{position}': 'GET',
    '/audit/v1/ledger/consistency': 'GET',
  },
  outside: { '/api/v1/namespaces': 'GET POST', [N]: 'DELETE' },
  path: {
    [N]: 'GET PUT',
    [`${N}/evaluate`]: 'POST',
    [`${N}/batch-evaluate`]: 'POST',
    [`${N}/flags/{flagKey}/rollouts`]: 'GET POST',
    [`${N}/flags/{flagKey}/rollouts/order`]: 'PUT',
    [`${N}/flags/{flagKey}/rollouts/{id}`]: 'GET PUT DELETE',
    ...Object.fromEntries(Object.entries(parts).map(([path, verbs]) => [N + path, verbs])),
    '/internal/v1/evaluation/snapshot/namespace/{key}': 'GET',
    '/client/v2/environments/{environment}/namespaces/{namespace}/stream': 'GET',
  },
  default: Object.fromEntries(Object.entries(parts).map(([path, verbs]) => [`/api/v1${path}`, verbs])),
  body: {
    '/evaluate/v1/boolean': 'POST',
    '/evaluate/v1/variant': 'POST',
    '/api/v1/evaluate': 'POST',
    '/api/v1/batch-evaluate': 'POST',
  },
  nested: { '/evaluate/v1/batch': 'POST' },
  header: {
    '/ofrep/v1/configuration': 'GET',
    '/ofrep/v1/evaluate/flags': 'POST',
    '/ofrep/v1/evaluate/flags/{key}': 'POST',
  },
  stream: { '/ofrep/v1/events': 'GET' },
}
const rows = Object.entries(routes).flatMap(([reach, paths]) =>
  Object.entries(paths).flatMap(([path, verbs]) =>
    verbs.split(' ').map((verb) => ({ reach: reach as Reach, verb, path })),
  ),
)

/** Request that addresses a namespace as the route requires, with otherwise void content. */
const addressed = (
  service: Started,
  { reach, verb, path }: (typeof rows)[number],
  namespace: string,
  headers: Headers,
) => {
  const filled = path
    .replace(reach === 'path' ? /\{(namespaceKey|key|namespace)\}/ : /\{namespaceKey\}/, namespace)
    .replaceAll(/\{\w+\}/g, 'none')
  const body =
    reach === 'body'
      ? { namespaceKey: namespace }
      : reach === 'nested'
        ? { requests: [{ namespaceKey: namespace, flagKey: 'f' }] }
        : {}
  const sent = reach === 'header' ? { 'x-service-namespace': namespace, ...headers } : headers
  // The second parameter is refused after the access decision, so that no stream opens.
  const target = reach === 'stream' ? `${filled}?namespace=${namespace}&namespace=` : filled
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

/** Routes that need a credential, even if the configuration requires none. */
const ALWAYS: ReadonlySet<string> = new Set(['/auth/v1/sessions/find', '/audit/v1/subjects/erase'])

await t.test('the table of routes lists every route with its access', async (t) => {
  const { service } = await everyWay(t)
  const { json } = await service.request<{ paths: Record<string, object> }>('GET', '/openapi.json')
  const mounted = Object.entries(json.paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`),
  )
  t.strictSame(mounted.toSorted(), rows.map(({ verb, path }) => `${verb} ${path}`).toSorted())
})

await t.test('each route requires a credential, and limits a token for one namespace to it', async (t) => {
  const { service } = await everyWay(t)
  for (const key of ['mine', 'other']) await service.request('POST', '/api/v1/namespaces', { key, name: key })
  const [mine, ofDefault] = [await scopedTo(service, 'mine'), await scopedTo(service, 'default')]
  for (const row of rows) {
    const asks = async (namespace: string, headers: Headers) =>
      verdictOf(await addressed(service, row, namespace, headers))
    const name = `${row.verb} ${row.path}`
    if (row.reach === 'public') {
      for (const headers of [open, bearer('nobody'), mine]) {
        const { status, reason } = refusalOf(await addressed(service, row, 'mine', headers))
        t.ok(status < 500 && own.has(reason), `${name}: ${status} ${reason}`)
      }
      continue
    }
    t.equal(await asks('mine', open), 'credential_missing', name)
    t.equal(await asks('mine', bearer('nobody')), 'credential_invalid', name)
    const everywhere = row.reach === 'any'
    const free = everywhere || ['path', 'body', 'nested', 'header', 'stream'].includes(row.reach)
    const elsewhere = everywhere ? 'taken' : 'token_scoped'
    t.equal(await asks('mine', mine), free ? 'taken' : 'token_scoped', `${name} by a token of this namespace`)
    t.equal(await asks('other', mine), elsewhere, `${name} by a token of another namespace`)
    t.equal(await asks('none', mine), elsewhere, `${name}, whether or not the namespace exists`)
    t.equal(
      await asks('default', ofDefault),
      free || row.reach === 'default' ? 'taken' : 'token_scoped',
      `${name} by a token of default`,
    )
  }
})

await t.test('a token in a request limits the request, even if no token is required', async (t) => {
  const { service } = await everyWay(t, { 'authentication.required': 'false' })
  const mine = await scopedTo(service, 'default')
  for (const row of rows.filter(({ reach }) => reach !== 'public')) {
    const name = `${row.verb} ${row.path}`
    const asks = async (headers: Headers) => verdictOf(await addressed(service, row, 'nowhere', headers))
    const always = row.reach === 'self' || ALWAYS.has(row.path)
    t.equal(await asks(open), always ? 'credential_missing' : 'taken', name)
    t.equal(await asks(bearer('nobody')), always ? 'credential_invalid' : 'taken', `${name}: unusable is as none`)
    t.equal(
      await asks(mine),
      ['any', 'default'].includes(row.reach) ? 'taken' : 'token_scoped',
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
    for (const row of rows.filter(({ reach }) => reach !== 'public')) {
      const verdict = verdictOf(await addressed(service, row, 'nowhere', open))
      t.equal(verdict, within(row) ? 'taken' : 'credential_missing', `${row.verb} ${row.path}`)
    }
  })
}

/** Sends a void request to each route. */
const everyRequest = async (service: Started, ask: (row: (typeof rows)[number], filled: string) => Promise<void>) => {
  // The end of our own token comes last.
  const inOrder = rows.toSorted(
    (one, other) => Number(one.path.endsWith('/expire')) - Number(other.path.endsWith('/expire')),
  )
  for (const row of inOrder) {
    const filled = row.path.replaceAll(/\{\w+\}/g, 'none')
    await ask(row, row.reach === 'stream' ? `${filled}?namespace=&namespace=` : filled)
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
