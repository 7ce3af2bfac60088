import t from 'tap'
import type { Access } from '../../src/contract/access.ts'
import type { Started } from '../start.ts'
import { bearer, everyWay, type Issued, refusalOf } from './people.ts'

const WITH = { 'Event-Reason': 'launch' }
const N = '/api/v1/namespaces/{namespaceKey}'
/** Writes that need no reason, because no person decides on them, or only about the own token. */
const FREE: readonly string[] = [
  'PUT /auth/v1/self/expire',
  'POST /auth/v1/method/orchestrator/serviceaccount',
  'POST /auth/v1/method/oidc/{provider}/backchannel-logout',
]
/** Writes about the whole deployment, or about tokens without a namespace. */
const DEPLOYMENT: readonly string[] = [
  'DELETE /auth/v1/tokens/{id}',
  'POST /auth/v1/method/token',
  'POST /auth/v1/tokens/revoke',
  'POST /audit/v1/subjects/erase',
]

type Operation = { readonly parameters?: readonly { readonly $ref?: string; readonly name?: string }[] }
type Write = { readonly verb: string; readonly path: string; readonly name: string }

/** The routes that take `Event-Reason`, from the document of the service. */
const writesOf = async ({ request }: Started): Promise<readonly Write[]> => {
  const { json } = await request<{ readonly paths: Record<string, Record<string, Operation>> }>('GET', '/openapi.json')
  return Object.entries(json.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs)
      .filter(([, operation]) => JSON.stringify(operation.parameters ?? []).includes('Event-Reason'))
      .map(([verb]) => ({ verb: verb.toUpperCase(), path, name: `${verb.toUpperCase()} ${path}` })),
  )
}

/** Reason of the refusal of a write that addresses a namespace and is otherwise void. */
const reasonFor = async ({ request }: Started, { verb, path }: Write, namespace: string, headers = {}) => {
  const filled = path.replace('{namespaceKey}', namespace).replaceAll(/\{\w+\}/g, 'none')
  // The query of this route is read before the headers.
  const query = verb === 'DELETE' && path.includes('distributions') ? '?variantId=none' : ''
  const body = path === '/api/v1/namespaces' ? { key: namespace } : {}
  const answer = await request(verb, filled + query, verb === 'DELETE' ? undefined : body, headers)
  t.ok(answer.status < 500, `${verb} ${path}: ${answer.status}`)
  return answer.status < 300 ? undefined : refusalOf(answer).reason
}

await t.test('every write in a listed namespace needs a reason, and no other write does', async (t) => {
  const { service } = await everyWay(t, { 'authorization.require_reason': 'prod' })
  const { request } = service
  await request('POST', '/api/v1/namespaces', { key: 'prod', name: 'prod' }, WITH)
  const writes = await writesOf(service)
  const below = writes.filter(({ path }) => path.startsWith(N))
  t.ok(below.length > 25, `${below.length} writes below a namespace`)
  for (const write of writes.filter(({ path }) => path.startsWith(N) || path === '/api/v1/namespaces')) {
    t.equal(await reasonFor(service, write, 'prod'), 'reason_required', write.name)
    t.equal(await reasonFor(service, write, 'prod', { 'Event-Reason': ' ' }), 'reason_required', `${write.name}, blank`)
    if (write.name !== `DELETE ${N}`)
      t.not(await reasonFor(service, write, 'prod', WITH), 'reason_required', write.name)
    t.not(await reasonFor(service, write, 'shop'), 'reason_required', `${write.name} elsewhere`)
  }
  for (const write of writes.filter(({ path }) => !path.startsWith('/api/v1/namespaces')))
    if (write.name !== FREE[0]) t.not(await reasonFor(service, write, 'prod'), 'reason_required', write.name)
  t.equal((await request('GET', '/api/v1/namespaces/prod/flags')).status, 200, 'reads need none')
})

await t.test('the namespaces of a token decide whether its creation and end need a reason', async (t) => {
  const { service } = await everyWay(t, { 'authorization.require_reason': 'prod' })
  const { request } = service
  for (const key of ['prod', 'shop']) await request('POST', '/api/v1/namespaces', { key, name: key }, WITH)
  const make = (fields: object, headers = {}) =>
    request<Issued>('POST', '/auth/v1/method/token', { name: 'made', ...fields }, headers)
  const grants = ['shop', 'prod'].map((namespaceKey) => ({ role: 'viewer', namespaceKey }))
  for (const fields of [{ namespaceKey: 'prod' }, { grants }]) {
    const refused = await make(fields)
    t.match(refusalOf(refused), { status: 400, reason: 'reason_required' })
    t.equal((await make(fields, WITH)).status, 200)
  }
  for (const fields of [{}, { namespaceKey: 'shop' }, { grants: grants.slice(0, 1) }])
    t.equal((await make(fields)).status, 200, JSON.stringify(fields))
  for (const [namespaceKey, status] of [
    ['prod', 400],
    ['shop', 200],
  ] as const) {
    const { json } = await make({ namespaceKey }, WITH)
    const path = `/auth/v1/tokens/${json.authentication.id}`
    t.equal((await request('DELETE', path)).status, status, `the end of a token of ${namespaceKey}`)
    if (status === 400) t.equal((await request('DELETE', path, undefined, WITH)).status, 200)
  }
})

await t.test('with “*” every write needs a reason, except those of the caller alone', async (t) => {
  const { service } = await everyWay(t, { 'authorization.require_reason': '*' })
  const { request } = service
  for (const write of (await writesOf(service)).filter(({ name }) => name !== FREE[0])) {
    const isRequired = (await reasonFor(service, write, 'any')) === 'reason_required'
    t.equal(isRequired, !FREE.includes(write.name), write.name)
  }
  for (const name of DEPLOYMENT)
    t.ok(
      (await writesOf(service)).some((write) => write.name === name),
      name,
    )
  const erasure = { subject: 'person-AAAAAAAAAAAAAAAAAAAAAA', reason: 'request of the person' }
  const erased = await request('POST', '/audit/v1/subjects/erase', erasure)
  t.equal(refusalOf(erased).reason, 'not_found', 'a body with a reason is enough')
  const { text } = await request('DELETE', '/auth/v1/tokens/none')
  t.match(text, 'a reason is required: send it in the header Event-Reason')
  const made = await request<Issued>('POST', '/auth/v1/method/token', { name: 'own' }, WITH)
  const expired = await request('PUT', '/auth/v1/self/expire', {}, bearer(made.json.clientToken))
  t.equal(expired.status, 200, 'the end of the own token')
})

await t.test('the access of a caller lists the namespaces that need a reason', async (t) => {
  const { service } = await everyWay(t, { 'authorization.require_reason': 'prod,shop' })
  const required = async (headers = {}) =>
    (await service.request<Access>('GET', '/auth/v1/access', undefined, headers)).json.reasonRequired
  for (const key of ['prod', 'shop', 'till'])
    await service.request('POST', '/api/v1/namespaces', { key, name: key }, WITH)
  t.strictSame(await required(), ['prod', 'shop'])
  for (const [namespaceKey, seen] of [
    ['shop', ['shop']],
    ['till', undefined],
  ] as const) {
    const fields = { name: namespaceKey, grants: [{ role: 'viewer', namespaceKey }] }
    const { json } = await service.request<Issued>('POST', '/auth/v1/method/token', fields, WITH)
    t.strictSame(await required(bearer(json.clientToken)), seen)
  }
})
