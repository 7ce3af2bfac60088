import t from 'tap'
import { everyWay } from './people.ts'

const N = '/api/v1/namespaces/{namespaceKey}'

/** Right of each route by the contract (api.md §3.7): `[N]` is with or without a namespace. */
const table: Readonly<Record<string, readonly string[]>> = {
  public: [
    'GET /livez',
    'GET /readyz',
    'GET /health',
    'GET /metrics',
    'GET /openapi.json',
    'GET /asyncapi.json',
    'GET /auth/v1/method',
    'GET /auth/v1/method/oidc/{provider}/authorize',
    'GET /auth/v1/method/oidc/{provider}/callback',
    'GET /auth/v1/method/oidc/{provider}/post-logout',
    'POST /auth/v1/method/oidc/{provider}/backchannel-logout',
    'GET /auth/v1/method/codehost/authorize',
    'GET /auth/v1/method/codehost/callback',
    'POST /auth/v1/method/orchestrator/serviceaccount',
    'DELETE /auth/v1/self/session',
  ],
  none: ['GET /auth/v1/self/session', 'GET /auth/v1/access', 'GET /auth/v1/access/check'],
  'self.use': [
    'GET /auth/v1/self',
    'PUT /auth/v1/self/expire',
    'POST /auth/v1/self/session',
    'GET /meta/info',
    'GET /auth/v1/roles',
  ],
  'config.read': ['GET /meta/config'],
  'subject.erase': ['POST /audit/v1/subjects/erase'],
  'audit.read': [
    'GET /audit/v1/access',
    'GET /audit/v1/events',
    'GET /audit/v1/events/{position}',
    'GET /audit/v1/state/{category}/{id}',
    'GET /audit/v1/diff',
    'GET /audit/v1/histogram',
    'GET /audit/v1/stats',
    'GET /audit/v1/read-models/{name}',
    'POST /audit/v1/tokens/find',
    'POST /audit/v1/subjects/find',
    'GET /audit/v1/ledger',
    'GET /audit/v1/ledger/checkpoint',
    'POST /audit/v1/ledger/checkpoint',
    'GET /audit/v1/ledger/checkpoints',
    'GET /audit/v1/ledger/tile/{path}',
    'GET /audit/v1/ledger/proof/{position}',
    'GET /audit/v1/ledger/consistency',
  ],
  'flag.evaluate': [
    'POST /evaluate/v1/boolean',
    'POST /evaluate/v1/variant',
    'POST /evaluate/v1/batch',
    'POST /api/v1/evaluate',
    'POST /api/v1/batch-evaluate',
    'POST N/evaluate',
    'POST N/batch-evaluate',
    'GET /ofrep/v1/configuration',
    'GET /ofrep/v1/events',
    'POST /ofrep/v1/evaluate/flags',
    'POST /ofrep/v1/evaluate/flags/{key}',
  ],
  'flag.snapshot': [
    'GET /internal/v1/evaluation/snapshot/namespace/{key}',
    'GET /client/v2/environments/{environment}/namespaces/{namespace}/stream',
  ],
  'flag.read': [
    'GET [N]/flags',
    'GET [N]/flags/{key}',
    'GET [N]/flags/{flagKey}/rules',
    'GET [N]/flags/{flagKey}/rules/{id}',
    'GET N/flags/{flagKey}/rollouts',
    'GET N/flags/{flagKey}/rollouts/{id}',
  ],
  'flag.create': ['POST [N]/flags'],
  'flag.delete': ['DELETE [N]/flags/{key}'],
  'flag.update': [
    'PUT [N]/flags/{key}',
    'POST [N]/flags/{key}/changes',
    'POST [N]/flags/{flagKey}/variants',
    'PUT [N]/flags/{flagKey}/variants/{id}',
    'DELETE [N]/flags/{flagKey}/variants/{id}',
    'POST [N]/flags/{flagKey}/rules',
    'PUT [N]/flags/{flagKey}/rules/order',
    'PUT [N]/flags/{flagKey}/rules/{id}',
    'DELETE [N]/flags/{flagKey}/rules/{id}',
    'POST [N]/flags/{flagKey}/rules/{ruleId}/distributions',
    'PUT [N]/flags/{flagKey}/rules/{ruleId}/distributions/{id}',
    'DELETE [N]/flags/{flagKey}/rules/{ruleId}/distributions/{id}',
    'POST N/flags/{flagKey}/rollouts',
    'PUT N/flags/{flagKey}/rollouts/order',
    'PUT N/flags/{flagKey}/rollouts/{id}',
    'DELETE N/flags/{flagKey}/rollouts/{id}',
  ],
  'segment.read': ['GET [N]/segments', 'GET [N]/segments/{key}', 'POST [N]/segments/{key}/match'],
  'segment.create': ['POST [N]/segments'],
  'segment.delete': ['DELETE [N]/segments/{key}'],
  'segment.update': [
    'PUT [N]/segments/{key}',
    'POST [N]/segments/{key}/changes',
    'POST [N]/segments/{segmentKey}/constraints',
    'PUT [N]/segments/{segmentKey}/constraints/{id}',
    'DELETE [N]/segments/{segmentKey}/constraints/{id}',
  ],
  'namespace.read': ['GET /api/v1/namespaces', 'GET N'],
  'namespace.update': ['PUT N'],
  'namespace.create': ['POST /api/v1/namespaces'],
  'namespace.delete': ['DELETE N'],
  'token.read': ['GET /auth/v1/tokens', 'GET /auth/v1/tokens/{id}', 'POST /auth/v1/sessions/find'],
  'token.revoke': ['DELETE /auth/v1/tokens/{id}', 'POST /auth/v1/tokens/revoke'],
  'token.create': ['POST /auth/v1/method/token'],
}

/** Route with an optional credential. */
const WELCOME = 'GET /auth/v1/self/session'

/** Routes of a row, with their expected security in `/openapi.json`. */
const stated = Object.entries(table).flatMap(([right, routes]) => {
  const scopes = right === 'none' ? [] : [right]
  const guarded = [{ bearer: scopes }, { cookie: scopes }]
  const securityOf = (route: string) => {
    if (right === 'public') return []
    return route === WELCOME ? [{}, ...guarded] : guarded
  }
  return routes
    .flatMap((route) => (route.includes('[N]') ? [route.replace('[N]', N), route.replace('[N]', '/api/v1')] : [route]))
    .map((route) => [route.replace(/ N(?=\/|$)/, ` ${N}`), securityOf(route)] as const)
})

await t.test('each route requires the documented right, and /openapi.json states it', async (t) => {
  const { service } = await everyWay(t)
  const { json } = await service.request<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security: readonly object[] }>>>>
  }>('GET', '/openapi.json')
  const mounted = Object.entries(json.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, { security }]) => [`${verb.toUpperCase()} ${path}`, security] as const),
  )
  t.strictSame(Object.fromEntries(mounted), Object.fromEntries(stated))
  t.equal(mounted.length, stated.length)
})

await t.test('a route that requires no credential never answers 401', async (t) => {
  const { service } = await everyWay(t)
  const { json } = await service.request<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>
  }>('GET', '/openapi.json')
  const statuses = (path: string) => Object.keys(json.paths[path]!['get']!.responses)
  t.strictSame(statuses('/auth/v1/self/session'), ['200', '429', '503'])
  t.strictSame(statuses('/auth/v1/self'), ['200', '401', '403', '503'])
})
