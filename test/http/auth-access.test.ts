import t from 'tap'
import { levelOf, RIGHTS } from '../../src/access/rights.ts'
import type { Access, AccessChecked, Roles } from '../../src/contract/access.ts'
import { type Fields, type Started, startService } from '../start.ts'
import { bearer, everyWay, type Issued, logIn, OIDC, open, refusalOf } from './people.ts'

const ACCESS = '/auth/v1/access'
const all = [{ namespaceKey: '*', rights: ['*'] }]

const withNamespaces = async (service: Started) => {
  for (const key of ['shop', 'other']) await service.request('POST', '/api/v1/namespaces', { key, name: key })
  return service
}
const made = async (service: Started, body: Fields) => {
  const answer = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n', ...body })
  if (answer.status !== 200) throw new Error(answer.text)
  const { clientToken, authentication } = answer.json
  return { headers: bearer(clientToken), id: authentication.id, position: String(answer.headers['event-position']) }
}
const accessOf = async ({ request }: Started, headers: Parameters<Started['request']>[3]) =>
  (await request<Access>('GET', ACCESS, undefined, headers)).json
const check = async ({ request }: Started, search: string, headers: Parameters<Started['request']>[3] = {}) =>
  request<AccessChecked>('GET', `${ACCESS}/check?${search}`, undefined, headers)

await t.test('the access of a token is returned by namespace', async (t) => {
  const { service } = await everyWay(t)
  await withNamespaces(service)
  const plain = await made(service, { expiresAt: '2100-01-01T00:00:00Z' })
  t.strictSame(await accessOf(service, plain.headers), {
    authenticationId: plain.id,
    full: true,
    publishable: false,
    places: all,
    expiresAt: '2100-01-01T00:00:00Z',
  })
  const client = await made(service, { role: 'client', namespaceKey: 'shop' })
  const rights = ['flag.evaluate']
  t.strictSame(await accessOf(service, client.headers), {
    authenticationId: client.id,
    full: false,
    publishable: true,
    namespaceKey: 'shop',
    places: [{ namespaceKey: 'shop', rights }],
    grants: [{ namespaceKey: 'shop', role: 'client', rights }],
  })
  const several = await made(service, {
    grants: [
      { role: 'client', namespaceKey: 'shop' },
      { rights: ['flag.read', 'namespace.create'], namespaceKey: '*' },
      { rights: ['flag.update', 'flag.evaluate'], namespaceKey: 'shop' },
      { rights: ['segment.read'], namespaceKey: 'other' },
    ],
  })
  t.match(await accessOf(service, several.headers), {
    full: false,
    publishable: false,
    places: [
      { namespaceKey: '*', rights: ['flag.read', 'namespace.create'] },
      { namespaceKey: 'other', rights: ['segment.read'] },
      { namespaceKey: 'shop', rights: ['flag.evaluate', 'flag.update'] },
    ],
  })
  t.match(await accessOf(service, (await made(service, { role: 'admin' })).headers), { full: true, places: all })
  const { token } = await logIn(service, OIDC)
  t.match(await accessOf(service, { cookie: `service_client_token=${token}`, ...open }), { full: true, places: all })
  t.equal((await service.request('GET', ACCESS, undefined, open)).status, 401)
})

await t.test('if no credential is required, every request has full access', async (t) => {
  const service = await startService(t, { 'authentication.required': 'false' })
  t.strictSame(await accessOf(service, open), { full: true, publishable: false, places: all })
  t.strictSame((await check(service, 'right=flag.update&namespaceKey=shop', open)).json, {
    allowed: true,
    right: 'flag.update',
    namespaceKey: 'shop',
    reason: 'open',
  })
  const client = await made(service, { role: 'client' })
  t.match((await check(service, 'right=flag.update', client.headers)).json, { allowed: false, reason: 'not_granted' })
  t.equal((await service.request('GET', '/auth/v1/roles', undefined, open)).status, 200)
})

await t.test('a caller can check whether it has a right, and gets the reason', async (t) => {
  const service = await withNamespaces(await startService(t))
  const editor = await made(service, {
    grants: [
      { role: 'client', namespaceKey: '*' },
      { role: 'editor', namespaceKey: 'shop' },
      { rights: ['flag.update'], namespaceKey: '*' },
    ],
  })
  const plain = await made(service, {})
  const bound = await made(service, { namespaceKey: 'shop' })
  const narrowed = await made(service, { namespaceKey: 'shop', role: 'viewer' })
  const inShop = { grant: 1, namespaceKey: 'shop', role: 'editor' }
  for (const [headers, search, due] of [
    [plain.headers, 'right=subject.erase', { allowed: true, reason: 'full_reach', namespaceKey: '*' }],
    [bound.headers, 'right=flag.update&namespaceKey=shop', { allowed: true, reason: 'namespaced' }],
    [bound.headers, 'right=flag.update&namespaceKey=other', { allowed: false, reason: 'not_granted' }],
    [bound.headers, 'right=flag.update', { allowed: false, reason: 'not_granted', namespaceKey: '*' }],
    [bound.headers, 'right=self.use&namespaceKey=shop', { allowed: false, reason: 'not_granted' }],
    [narrowed.headers, 'right=flag.update&namespaceKey=shop', { allowed: false, reason: 'not_granted' }],
    [
      narrowed.headers,
      'right=flag.read&namespaceKey=shop',
      { allowed: true, reason: 'granted', because: { grant: 0, namespaceKey: 'shop', role: 'viewer' } },
    ],
    [
      editor.headers,
      'right=flag.evaluate&namespaceKey=shop',
      { reason: 'granted', because: { grant: 0, namespaceKey: '*', role: 'client' } },
    ],
    [editor.headers, 'right=flag.update&namespace_key=%20shop%20', { reason: 'granted', because: inShop }],
    [
      editor.headers,
      'right=flag.update&namespaceKey=nowhere',
      { reason: 'granted', because: { grant: 2, namespaceKey: '*' } },
    ],
    [editor.headers, 'right=self.use', { allowed: true, reason: 'granted', because: inShop }],
    [editor.headers, 'right=flag.delete', { allowed: false, reason: 'not_granted' }],
  ] as const) {
    const { status, json } = await check(service, search, headers)
    t.equal(status, 200, search)
    t.match(json, due, search)
  }
  for (const [search, message] of [
    ['right=flag.fly', 'invalid field right: unknown right "flag.fly"'],
    ['right=*', 'invalid field right: unknown right "*"'],
    ['namespaceKey=shop', 'invalid field right: must not be empty'],
    ['right=flag.read&at=soon', 'invalid field at: must be an RFC 3339 timestamp or a position'],
  ] as const)
    t.match(refusalOf(await check(service, search)), { status: 400, message }, search)
})

await t.test("a caller that may read a token's record can check the rights of that token", async (t) => {
  const service = await withNamespaces(await startService(t))
  const target = await made(service, { role: 'viewer' })
  const inShop = await made(service, { namespaceKey: 'shop' })
  const reader = await made(service, { role: 'auditor' })
  const owner = await made(service, { grants: [{ role: 'admin', namespaceKey: 'shop' }] })
  const nobody = '00000000-0000-4000-8000-000000000000'
  const search = (id: string) => `right=flag.read&namespaceKey=shop&id=${id}`
  for (const headers of [{}, reader.headers]) {
    t.match((await check(service, search(target.id), headers)).json, { allowed: true, because: { role: 'viewer' } })
    t.match((await check(service, search(nobody), headers)).json, { allowed: false, reason: 'token_unknown' })
    t.match((await check(service, search('no-id'), headers)).json, { allowed: false, reason: 'token_unknown' })
  }
  t.match((await check(service, search(inShop.id), owner.headers)).json, { allowed: true, reason: 'namespaced' })
  t.match((await check(service, search(owner.id), owner.headers)).json, { allowed: true }, 'oneself is no other')
  for (const id of [target.id, nobody])
    t.match(refusalOf(await check(service, search(id), owner.headers)), {
      status: 403,
      reason: 'right_missing',
      message: 'permission denied: needs token.read in every namespace',
    })
  for (const headers of [inShop.headers, target.headers])
    t.match(refusalOf(await check(service, search(nobody), headers)), { status: 403, reason: 'right_missing' })
})

await t.test('a right can be checked at a past moment', async (t) => {
  const service = await startService(t)
  const before = await made(service, {})
  const viewer = await made(service, { role: 'viewer', expiresAt: new Date(Date.now() + 3_600_000).toISOString() })
  const gone = await service.request('DELETE', `/auth/v1/tokens/${viewer.id}`)
  const ended = await made(service, { role: 'viewer' })
  const expired = await service.request('PUT', '/auth/v1/self/expire', {}, ended.headers)
  for (const [id, at, due] of [
    [viewer.id, before.position, { allowed: false, reason: 'token_unknown' }],
    [viewer.id, viewer.position, { allowed: true, reason: 'granted', because: { grant: 0, role: 'viewer' } }],
    [viewer.id, String(gone.headers['event-position']), { allowed: false, reason: 'token_deleted' }],
    [viewer.id, '', { allowed: false, reason: 'token_deleted' }],
    [ended.id, ended.position, { allowed: true }],
    [ended.id, String(expired.headers['event-position']), { allowed: false, reason: 'token_expired' }],
  ] as const)
    t.match((await check(service, `right=flag.read&id=${id}&at=${at}`)).json, due, `${id} at ${at}`)
  t.match((await check(service, `right=flag.read&at=${before.position}`, before.headers)).json, { allowed: true })
  t.equal(refusalOf(await check(service, 'right=flag.read&at=99999999999')).reason, 'invalid_at')
})

await t.test('roles and rights are listed with the namespaces in which the caller may grant them', async (t) => {
  const service = await withNamespaces(await startService(t))
  const roles = async (headers = {}) => (await service.request<Roles>('GET', '/auth/v1/roles', undefined, headers)).json
  const everything = await roles()
  t.strictSame(
    everything.rights,
    RIGHTS.map((name) => ({ name, level: levelOf(name) })),
  )
  t.strictSame(
    everything.roles.map(({ name, builtIn, grantable }) => ({ name, builtIn, grantable })),
    ['client', 'server', 'viewer', 'editor', 'admin', 'auditor'].map((name) => ({
      name,
      builtIn: true,
      grantable: ['*'],
    })),
  )
  const grantable = async (body: Fields) => {
    const { headers } = await made(service, body)
    return Object.fromEntries((await roles(headers)).roles.map(({ name, grantable }) => [name, grantable.join(' ')]))
  }
  t.strictSame(await grantable({ role: 'viewer' }), {
    client: '',
    server: '',
    viewer: '',
    editor: '',
    admin: '',
    auditor: '',
  })
  t.match(await grantable({ grants: [{ role: 'admin', namespaceKey: 'shop' }] }), { client: 'shop', admin: 'shop' })
  t.match(
    await grantable({
      grants: [
        { role: 'viewer', namespaceKey: '*' },
        { role: 'editor', namespaceKey: 'shop' },
        { rights: ['token.create'], namespaceKey: '*' },
      ],
    }),
    { client: '*', viewer: '*', editor: 'shop', admin: '', auditor: 'default shop other' },
    'an auditor of one namespace has no right of the deployment',
  )
  const bound = await made(service, { namespaceKey: 'shop' })
  t.equal(refusalOf(await service.request('GET', '/auth/v1/roles', undefined, bound.headers)).reason, 'token_scoped')
  const client = await made(service, { role: 'client' })
  t.match(refusalOf(await service.request('GET', '/auth/v1/roles', undefined, client.headers)), {
    reason: 'right_missing',
    message: 'permission denied: needs self.use',
  })
})
