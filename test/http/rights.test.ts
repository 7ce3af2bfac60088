import t, { type Test } from 'tap'
import { type Fields, type Headers, type Response, type Started, type StartOptions, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventsOf } from './events-of.ts'
import { granted, withNamespaces } from './granted.ts'
import { type Problem, refusalOf } from './people.ts'

const N = '/api/v1/namespaces'
const TOKENS = '/auth/v1/tokens'
const CREATE = '/auth/v1/method/token'

/** Content of a refusal for a missing right. */
const told = ({ status, headers, json }: Response<unknown>) => {
  const { code, message, details } = json as Problem
  const { requestId: _, ...metadata } = details[0].value.metadata
  return { status, code, message, reason: details[0].value.reason, metadata, challenge: headers['www-authenticate'] }
}
const missing = (right: string, words = '', metadata: Fields = {}) => ({
  status: 403,
  code: 7,
  message: `permission denied: needs ${right}${words}`,
  reason: 'right_missing',
  metadata: { right, ...metadata },
  challenge: `Bearer error="insufficient_scope", scope="${right}"`,
})
const missingIn = (right: string, key: string) => missing(right, ` in namespace "${key}"`, { namespaceKey: key })
const missingEverywhere = (right: string) => missing(right, ' in every namespace', { namespaceKey: '*' })

/**
 * Starts a service with the namespaces `shop` and `desk`, and a function to send requests with a token of some grants.
 */
const shops = async (test: Test, settings: Readonly<Record<string, string>> = {}, options: StartOptions = {}) => {
  const service = await withNamespaces(await startService(test, settings, options), 'shop', 'desk')
  const as = async (asked: Fields) => {
    const { headers, id } = await granted(service, asked)
    const ask = (method: string, path: string, body?: unknown, more: Headers = {}) =>
      service.request(method, path, body, { ...headers, ...more })
    return { ask, id }
  }
  return { service, as }
}
const grants = (...texts: readonly string[]) => ({
  grants: texts.map((text) => {
    const [role, namespaceKey] = text.split('@')
    return { role, namespaceKey }
  }),
})
const rights = (namespaceKey: string, ...names: readonly string[]) => ({ rights: names, namespaceKey })

await t.test('a refusal names the missing right and its namespace', async (t) => {
  const { as } = await shops(t)
  const viewer = await as(grants('viewer@shop'))
  t.strictSame(told(await viewer.ask('POST', `${N}/shop/flags`, {})), missingIn('flag.create', 'shop'))
  t.strictSame(told(await viewer.ask('GET', `${N}/desk/flags`)), missingIn('flag.read', 'desk'))
  t.strictSame(told(await viewer.ask('GET', '/api/v1/flags')), missingIn('flag.read', 'default'))
  const head = await viewer.ask('HEAD', `${N}/desk/flags`)
  t.strictSame([head.status, head.headers['www-authenticate']], [403, missingIn('flag.read', 'desk').challenge])
  t.strictSame(told(await viewer.ask('GET', '/meta/config')), missingEverywhere('config.read'))
  t.strictSame(told(await viewer.ask('POST', N, {})), missingEverywhere('namespace.create'))
  t.strictSame(told(await viewer.ask('DELETE', `${N}/shop`)), missingEverywhere('namespace.delete'))
  t.strictSame(told(await viewer.ask('GET', TOKENS)), missing('token.read'), 'held nowhere: no place need be known')
  t.strictSame(told(await viewer.ask('POST', CREATE, { namespaceKey: 'shop' })), missing('token.create'))
  t.strictSame(told(await viewer.ask('GET', `${N}/*/flags`)), missingEverywhere('flag.read'))
  const client = await as({ role: 'client' })
  t.strictSame(told(await client.ask('GET', '/auth/v1/self')), missing('self.use'), 'which counts in any place')
  t.strictSame(told(await client.ask('GET', N)), missing('namespace.read'))

  for (const [path, body] of [
    ['/evaluate/v1/boolean', {}],
    ['/evaluate/v1/variant', { namespaceKey: '' }],
    ['/evaluate/v1/batch', { requests: [{ namespaceKey: 'shop' }, {}] }],
    ['/api/v1/evaluate', { namespace_key: null }],
    ['/api/v1/batch-evaluate', { requests: [{ namespaceKey: 'shop' }] }],
  ] as const)
    t.strictSame(told(await viewer.ask('POST', path, body)), missingIn('flag.evaluate', 'default'), path)
  const inside = { namespaceKey: 'shop', requests: [{ namespaceKey: 'desk' }] }
  t.strictSame(told(await viewer.ask('POST', '/api/v1/batch-evaluate', inside)), missingIn('flag.evaluate', 'desk'))
  for (const header of [{}, { 'x-service-namespace': '' }])
    t.match((await viewer.ask('POST', '/ofrep/v1/evaluate/flags', {}, header)).json, {
      errorDetails: 'permission denied: needs flag.evaluate in namespace "default"',
    })

  const long = `${'x'.repeat(254)}😀${'y'.repeat(100)}`
  const { message, metadata } = told(await viewer.ask('POST', '/evaluate/v1/boolean', { namespaceKey: long }))
  t.equal(metadata['namespaceKey'], `${'x'.repeat(254)}😀`)
  t.equal(message, `permission denied: needs flag.evaluate in namespace "${'x'.repeat(254)}😀"`)
  const odd = told(await viewer.ask('POST', '/evaluate/v1/boolean', { namespaceKey: 'a"\n' }))
  t.match(odd, { message: String.raw`permission denied: needs flag.evaluate in namespace "a\"\n"` })

  await t.test('errors on the routes for OpenFeature have the form that OpenFeature requires', async (t) => {
    for (const [path, key] of [
      ['/ofrep/v1/evaluate/flags/f', { key: 'f' }],
      ['/ofrep/v1/evaluate/flags', {}],
    ] as const) {
      const { status, headers, json } = await viewer.ask('POST', path, {}, { 'x-service-namespace': 'desk' })
      t.equal(status, 403)
      t.equal(headers['www-authenticate'], 'Bearer error="insufficient_scope", scope="flag.evaluate"')
      const errorDetails = 'permission denied: needs flag.evaluate in namespace "desk"'
      t.strictSame(json, { ...key, errorCode: 'GENERAL', errorDetails })
    }
  })
})

await t.test('path and headers are checked before the body, and rights before the fields', async (t) => {
  const { as } = await shops(t)
  const { ask } = await as({ grants: [rights('shop', 'flag.evaluate', 'flag.read', 'token.create', 'token.read')] })
  const reason = async (...of: Parameters<typeof ask>) => refusalOf(await ask(...of)).reason
  t.equal(await reason('POST', `${N}/shop/flags`, 'no JSON'), 'right_missing')
  t.equal(await reason('POST', '/evaluate/v1/boolean', 'no JSON'), 'malformed_body', 'held somewhere')
  t.equal(await reason('POST', '/evaluate/v1/boolean', { namespaceKey: 'desk', context: [] }), 'malformed_body')
  const wrong = { namespaceKey: 'desk', entityId: 'x'.repeat(70_000) }
  t.equal(await reason('POST', '/evaluate/v1/boolean', wrong), 'right_missing')
  t.equal(await reason('POST', '/evaluate/v1/boolean', { ...wrong, namespaceKey: 'shop' }), 'invalid_argument')
  const both = { requests: [{ namespaceKey: 'shop' }, { namespaceKey: 'desk' }] }
  t.strictSame(told(await ask('POST', '/evaluate/v1/batch', both)), missingIn('flag.evaluate', 'desk'))
  t.equal((await ask('POST', '/evaluate/v1/batch', { requests: [] })).status, 200, 'of nothing in particular')
  t.strictSame(told(await ask('POST', CREATE, { name: '' })), missingEverywhere('token.create'))
  t.strictSame(told(await ask('POST', CREATE, { namespaceKey: ' desk ' })), missingIn('token.create', 'desk'))
  t.equal(await reason('POST', CREATE, { namespaceKey: 7 }), 'malformed_body')
  t.strictSame(told(await ask('POST', CREATE, {}, { 'idempotency-key': ' ' })), missingEverywhere('token.create'))

  await t.test('the parameters "explain" and "at" require a further right in the same namespace', async (t) => {
    const asked = { namespaceKey: 'shop', flagKey: 'none' }
    t.equal(await reason('POST', '/evaluate/v1/boolean?explain=true', asked), 'not_found')
    for (const at of ['1', 'nonsense', '99999999'])
      t.strictSame(
        told(await ask('POST', `/evaluate/v1/boolean?at=${at}`, asked)),
        missingIn('history.read', 'shop'),
        'before it is known whether there is such a moment',
      )
    t.strictSame(told(await ask('GET', `${N}/shop/flags?%61t=1`)), missingIn('history.read', 'shop'))
    t.equal(await reason('GET', `${N}/shop/flags?at=`), undefined, 'which asks for nothing')
    t.equal(await reason('GET', `${N}/shop/flags?at=1&at=2`), 'invalid_argument')
    t.equal(await reason('GET', `${TOKENS}?namespaceKey=shop&at=1`), undefined, 'but for records')

    const blind = await as({ grants: [rights('shop', 'flag.evaluate', 'history.read')] })
    const explained = (query: string) => blind.ask('POST', `/evaluate/v1/variant?explain=${query}`, asked)
    t.strictSame(told(await explained('true')), missingIn('flag.read', 'shop'))
    t.strictSame(told(await explained('1&at=1')), missingIn('flag.read', 'shop'))
    t.equal(refusalOf(await explained('false')).reason, 'not_found')
    t.equal(refusalOf(await explained('perhaps')).reason, 'invalid_argument')
  })
})

await t.test('the list of namespaces contains those that the token may read', async (t) => {
  const { service, as } = await shops(t)
  type List = { readonly namespaces: readonly { readonly key: string }[]; readonly totalCount: number }
  const listed = async ({ ask }: Awaited<ReturnType<typeof as>>, query = '') => {
    const { status, json } = await ask('GET', `${N}?${query}`)
    const { namespaces, totalCount } = json as unknown as List
    return status === 200 ? { keys: namespaces.map(({ key }) => key), totalCount } : status
  }
  t.strictSame(await listed(await as(grants('viewer@shop', 'client@desk'))), { keys: ['shop'], totalCount: 1 })
  const two = await as(grants('viewer@shop', 'viewer@default'))
  t.strictSame(await listed(two), { keys: ['default', 'shop'], totalCount: 2 })
  t.strictSame(await listed(two, 'limit=1'), { keys: ['default'], totalCount: 2 })
  t.strictSame(await listed(two, 'q=sho&include=usage'), { keys: ['shop'], totalCount: 1 })
  t.strictSame(await listed(two, 'order=desc&sort=key'), { keys: ['shop', 'default'], totalCount: 2 })
  const everyone = { keys: ['default', 'shop', 'desk'], totalCount: 3 }
  t.strictSame(await listed(await as(grants('viewer@*'))), everyone)
  const half = await as({ grants: [rights('shop', 'namespace.read'), rights('desk', 'history.read')] })
  t.strictSame(await listed(half), { keys: ['shop'], totalCount: 1 })
  t.strictSame(told(await half.ask('GET', `${N}?at=1`)), missing('history.read'), 'both in one place')
  const past = await as({ grants: [rights('shop', 'namespace.read'), rights('*', 'history.read')] })
  const { headers } = await service.request('GET', `${N}/shop`)
  t.ok(headers['etag'])
  const { json } = await service.request('PUT', `${N}/shop`, { name: 'The shop' })
  t.strictSame(await listed(past, `at=${encodeURIComponent(String(json['updatedAt']))}`), {
    keys: ['shop'],
    totalCount: 1,
  })
})

await t.test('a token gets all token records, or only those of the namespaces in which it has a right', async (t) => {
  const { service, as } = await shops(t)
  const of = async (asked: Fields) => (await granted(service, asked)).id
  const [inShop, inDesk, unbound] = [
    await of({ namespaceKey: 'shop' }),
    await of({ namespaceKey: 'desk' }),
    await of({}),
  ]
  const inGrants = await of(grants('viewer@shop'))
  const unknown = '00000000-0000-4000-8000-000000000000'
  const keeper = await as({ grants: [rights('shop', 'token.read', 'token.revoke')] })
  const verbs = [
    ['GET', 'token.read'],
    ['DELETE', 'token.revoke'],
  ] as const
  for (const [verb, right] of verbs) {
    for (const id of [inDesk, unbound, inGrants, unknown, keeper.id, 'no id at all'])
      t.strictSame(
        told(await keeper.ask(verb, `${TOKENS}/${encodeURIComponent(id)}`)),
        missingEverywhere(right),
        `${verb} ${id}`,
      )
    t.equal((await keeper.ask(verb, `${TOKENS}/${inShop}`)).status, 200)
  }
  t.equal((await keeper.ask('GET', `${TOKENS}/${inShop}`)).status, 404, 'ended, it is still theirs')
  t.equal((await keeper.ask('GET', `${TOKENS}/${inShop}?deleted=true`)).status, 200)
  t.equal((await keeper.ask('DELETE', `${TOKENS}/${inShop}`)).status, 200)

  const all = await as({ grants: [rights('*', 'token.read', 'token.revoke')] })
  t.equal((await all.ask('GET', `${TOKENS}/${unbound}`)).status, 200)
  t.equal((await all.ask('GET', `${TOKENS}/${unknown}`)).status, 404)
  t.equal((await all.ask('DELETE', `${TOKENS}/${unbound}`)).status, 200)

  const { json } = await keeper.ask('GET', `${TOKENS}?namespaceKey=shop&status=DELETED`)
  const listed = (json['authentications'] as readonly { readonly id: string }[]).map(({ id }) => id)
  t.strictSame(listed, [inShop], 'in a list too')
  t.match((await keeper.ask('GET', `${TOKENS}?namespaceKey=shop`)).json, { totalCount: 0 })
  t.strictSame(told(await keeper.ask('GET', TOKENS)), missingEverywhere('token.read'))
  t.strictSame(told(await keeper.ask('GET', `${TOKENS}?namespace_key=desk`)), missingIn('token.read', 'desk'))
  const holder = { method: 'METHOD_TOKEN', identity: 'granted' }
  t.strictSame(told(await keeper.ask('POST', `${TOKENS}/revoke`, holder)), missingEverywhere('token.revoke'))
})

await t.test('a token may end itself without a right, but may delete its record only with one', async (t) => {
  const { as } = await shops(t)
  const viewer = await as(grants('viewer@shop'))
  t.strictSame(told(await viewer.ask('DELETE', `${TOKENS}/${viewer.id}`)), missing('token.revoke'))
  const bound = await as({ namespaceKey: 'shop' })
  t.equal(refusalOf(await bound.ask('DELETE', `${TOKENS}/${bound.id}`)).reason, 'token_scoped')
  t.equal((await viewer.ask('PUT', '/auth/v1/self/expire', {})).status, 200)
  t.equal((await viewer.ask('GET', '/auth/v1/self')).status, 401)
})

await t.test('a credential in a request limits the request, even if no credential is required', async (t) => {
  const { service, as } = await shops(t, { 'authentication.required': 'false' })
  const viewer = await as(grants('viewer@shop'))
  for (const authorization of ['', 'Bearer nobody']) {
    const nobody = (method: string, path: string, body?: unknown) =>
      service.request(method, path, body, { authorization })
    t.equal((await nobody('GET', `${N}?at=1`)).status, 200)
    t.match((await nobody('GET', N)).json, { totalCount: 3 })
    t.equal(
      (await nobody('POST', `${N}/desk/segments`, { key: 's', name: 's' })).status,
      authorization === '' ? 200 : 400,
    )
    t.equal((await nobody('GET', TOKENS)).status, 200)
    t.equal((await nobody('GET', '/meta/config')).status, 200)
  }
  t.strictSame(told(await viewer.ask('GET', `${N}/desk/segments`)), missingIn('segment.read', 'desk'))
  t.strictSame(told(await viewer.ask('GET', '/meta/config')), missingEverywhere('config.read'))
})

await t.test('a token for one namespace with a role has only the rights that both give', async (t) => {
  const { as } = await shops(t)
  const { ask } = await as({ namespaceKey: 'shop', role: 'viewer' })
  t.equal((await ask('GET', `${N}/shop/flags`)).status, 200)
  t.strictSame(told(await ask('PUT', `${N}/shop`, {})), missingIn('namespace.update', 'shop'))
  t.strictSame(told(await ask('POST', `${N}/shop/flags`, {})), missingIn('flag.create', 'shop'))
  for (const [method, path] of [
    ['POST', `${N}/desk/flags`],
    ['GET', N],
    ['GET', '/auth/v1/self'],
    ['GET', TOKENS],
    ['GET', `${TOKENS}?namespaceKey=shop`],
    ['POST', CREATE],
  ] as const)
    t.equal(
      refusalOf(await ask(method, path, method === 'POST' ? { namespaceKey: 'shop' } : undefined)).reason,
      'token_scoped',
    )
  const outside = { requests: [{ namespaceKey: 'shop' }, { namespaceKey: 'desk' }] }
  t.equal(refusalOf(await ask('POST', '/evaluate/v1/batch', outside)).reason, 'token_scoped')
})

/** Counted decisions from the metrics. */
const decisions = async ({ metrics }: Started) => {
  const of = async () => {
    const text = await metrics()
    const count = (part: string) =>
      [...text.matchAll(/^rollcall_auth_decisions_total\{([^}]*)\} (\d+)$/gm)]
        .filter(([, labels = '']) => labels.includes(part))
        .reduce((sum, [, , count]) => sum + Number(count), 0)
    return {
      allowed: count('result="allowed"'),
      missing: count('reason="right_missing"'),
      refused: count('result="refused"'),
    }
  }
  const before = await of()
  return async () => {
    const after = await of()
    const since = (name: keyof typeof after) => after[name] - before[name]
    return { allowed: since('allowed'), missing: since('missing'), refused: since('refused') }
  }
}

await t.test('every refusal for a missing right is counted once, and never as allowed', async (t) => {
  const { service, as } = await shops(t, {}, { clock: virtualClock() })
  const inShop = (await granted(service, { namespaceKey: 'shop' })).id
  const few = ['flag.evaluate', 'namespace.read', 'token.read', 'token.create', 'flag.read'] as const
  const { ask, id } = await as({ grants: [rights('shop', ...few)] })
  const since = await decisions(service)
  const refused: readonly Parameters<typeof ask>[] = [
    ['GET', `${N}/desk/flags`],
    ['GET', '/meta/config'],
    ['POST', '/evaluate/v1/boolean', { namespaceKey: 'desk' }],
    ['POST', '/evaluate/v1/boolean?at=1', { namespaceKey: 'shop' }],
    ['GET', `${N}/shop/flags?at=1`],
    ['GET', `${N}?at=1`],
    ['GET', TOKENS],
    ['GET', `${TOKENS}/${id}`],
    ['POST', CREATE, {}],
  ]
  for (const asked of refused)
    t.equal(refusalOf(await ask(...asked)).reason, 'right_missing', `${asked[0]} ${asked[1]}`)
  const taken: readonly Parameters<typeof ask>[] = [
    ['GET', `${N}/shop/flags`],
    ['GET', N],
    ['POST', '/evaluate/v1/boolean', { namespaceKey: 'shop' }],
    ['GET', `${TOKENS}?namespaceKey=shop`],
    ['GET', `${TOKENS}/${inShop}`],
  ]
  for (const asked of taken) t.not((await ask(...asked)).status, 403, `${asked[0]} ${asked[1]}`)
  t.equal(refusalOf(await ask('POST', CREATE, { namespaceKey: 'shop', role: 'server' })).reason, 'grant_exceeds')
  t.strictSame(await since(), { allowed: taken.length, missing: refused.length, refused: refused.length + 1 })

  await service.close()
  const events = await eventsOf(service.directory, ({ type }) => type.startsWith('AuthenticationRefused'))
  const noted = events.map(({ data: { reason, right, namespace, tokenId } }) => {
    t.equal(tokenId, id)
    return reason === 'right_missing' ? [right, namespace] : [right, namespace, reason]
  })
  t.strictSame(
    noted,
    [
      ['flag.read', 'desk'],
      ['config.read', '*'],
      ['flag.evaluate', 'desk'],
      ['history.read', 'shop'],
      ['history.read', undefined],
      ['token.read', '*'],
      ['token.create', '*'],
      ['flag.snapshot', 'shop', 'grant_exceeds'],
    ],
    'each right and place once',
  )
})
