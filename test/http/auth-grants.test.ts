import t from 'tap'
import { RIGHTS } from '../../src/access/rights.ts'
import { type Fields, type Started, startService } from '../start.ts'
import { eventsOf } from './events-of.ts'
import { type Authentication, bearer, type Issued, type Problem, refusalOf } from './people.ts'

const TOKEN = '/auth/v1/method/token'
type Grant = { readonly namespaceKey: string; readonly role?: string; readonly rights?: readonly string[] }
type Record = Authentication & { readonly grants?: readonly Grant[] }

const SERVER = ['flag.evaluate', 'flag.snapshot', 'self.use']
const VIEWER = [
  'flag.evaluate',
  'flag.snapshot',
  'flag.read',
  'segment.read',
  'namespace.read',
  'history.read',
  'self.use',
]

const create = ({ request }: Started, body: Fields, headers = {}) =>
  request<Issued>('POST', TOKEN, { name: 'n', ...body }, headers)
const made = async (service: Started, body: Fields, headers = {}) => {
  const { status, text, json } = await create(service, body, headers)
  if (status !== 200) throw new Error(`${status} ${text}`)
  return { ...json, record: json.authentication as Record }
}
const withShop = async (service: Started) => {
  for (const key of ['shop', 'other']) await service.request('POST', '/api/v1/namespaces', { key, name: key })
  return service
}

await t.test('a static token is issued with the given role or grants', async (t) => {
  const service = await withShop(await startService(t))
  const plain = await made(service, {})
  t.notOk('grants' in plain.record, 'without role and grants the record is as it was')
  t.match(plain.clientToken, /^rct_/)
  t.notOk('grants' in (await made(service, { role: null, grants: null })).record, 'null is absent')
  t.notOk('grants' in (await made(service, { namespaceKey: 'shop' })).record)

  const server = await made(service, { role: 'server' })
  t.strictSame(server.record.grants, [{ namespaceKey: '*', role: 'server', rights: SERVER }])
  t.match(server.clientToken, /^rct_/)
  t.strictSame((await made(service, { role: 'admin' })).record.grants, [
    { namespaceKey: '*', role: 'admin', rights: ['*'] },
  ])
  const narrowed = await made(service, { role: 'viewer', namespaceKey: 'shop' })
  t.strictSame(
    narrowed.record.grants,
    [{ namespaceKey: 'shop', role: 'viewer', rights: VIEWER.filter((right) => right !== 'self.use') }],
    'of a namespaced token what its role leaves it',
  )
  t.equal(narrowed.record.metadata['io.service.auth.token.namespace'], 'shop')

  const several = await made(service, {
    grants: [
      { role: 'viewer', namespaceKey: '*' },
      { rights: ['flag.update', 'flag.read', 'flag.update'], namespaceKey: ' shop ' },
      { role: 'auditor', namespace_key: 'other' },
    ],
  })
  const inOther = [
    'flag.evaluate',
    'flag.read',
    'segment.read',
    'namespace.read',
    'token.read',
    'history.read',
    'self.use',
  ]
  const due = [
    { namespaceKey: '*', role: 'viewer', rights: VIEWER },
    { namespaceKey: 'shop', rights: ['flag.read', 'flag.update'] },
    { namespaceKey: 'other', role: 'auditor', rights: inOther },
  ]
  t.strictSame(several.record.grants, due, 'in the order given')
  const { json } = await service.request<Record>('GET', `/auth/v1/tokens/${several.record.id}`)
  t.strictSame(json.grants, due)
  const { json: own } = await service.request<Record>('GET', '/auth/v1/self', undefined, bearer(several.clientToken))
  t.strictSame(own.grants, due)
})

await t.test('a token without role and grants is stored in the format of earlier versions', async (t) => {
  const service = await withShop(await startService(t))
  const [plain, bound] = [await made(service, {}), await made(service, { namespaceKey: 'shop' })]
  for (const { record } of [plain, bound])
    t.strictSame(
      Object.keys(record).sort(),
      ['createdAt', 'ending', 'id', 'issuedBy', 'metadata', 'method', 'status', 'updatedAt'],
      'no member more, but its maker and its last characters',
    )
  await service.close()
  const ofTokens = () => eventsOf(service.directory, ({ stream }) => stream.startsWith('token-'))
  const told = await ofTokens()
  t.strictSame(
    told.map(({ type }) => type),
    ['TokenIssued', 'TokenIssued', 'TokenIssued'],
    'a version without roles can read it',
  )
  for (const { data } of told) for (const name of ['grants', 'roles', 'policy']) t.notOk(name in data, name)

  const later = { 'authorization.require_role': 'true' }
  const again = await startService(t, later, { directory: service.directory })
  const accessOf = async ({ clientToken }: typeof plain) =>
    (await again.request('GET', '/auth/v1/access', undefined, bearer(clientToken))).json
  t.match(await accessOf(plain), { full: true, places: [{ namespaceKey: '*', rights: ['*'] }] })
  t.match(await accessOf(bound), { full: false, namespaceKey: 'shop', places: [{ rights: { length: 13 } }] })
  await again.close()
  t.equal((await ofTokens()).length, told.length, 'nothing converts it')
})

await t.test('a token that may only evaluate flags has its own prefix', async (t) => {
  const service = await withShop(await startService(t))
  for (const body of [
    { role: 'client' },
    { role: 'client', namespaceKey: 'shop' },
    {
      grants: [
        { role: 'client', namespaceKey: 'shop' },
        { rights: ['flag.evaluate'], namespaceKey: 'other' },
      ],
    },
  ]) {
    const { clientToken } = await made(service, body)
    t.match(clientToken, /^rcp_[0-9A-Za-z]{49}$/, JSON.stringify(body))
    const { status } = await service.request('GET', '/auth/v1/access', undefined, bearer(clientToken))
    t.equal(status, 200, 'it works')
  }
  for (const body of [
    { role: 'server' },
    { grants: [{ rights: ['flag.evaluate', 'self.use'], namespaceKey: 'shop' }] },
  ])
    t.match((await made(service, body)).clientToken, /^rct_/, JSON.stringify(body))
})

await t.test('the number of grants of a token is limited', async (t) => {
  const service = await withShop(await startService(t))
  const grants = Array.from({ length: 64 }, (_, n) => ({ role: 'client', namespaceKey: ['*', 'shop'][n % 2] }))
  t.equal((await made(service, { grants })).record.grants?.length, 64)
})

const viewerEverywhere = { role: 'viewer', namespaceKey: '*' }
const rules: readonly (readonly [Fields, field: string, description: string])[] = [
  [{ role: 'boss' }, 'role', 'unknown role "boss"'],
  [{ role: 'Viewer' }, 'role', 'unknown role "Viewer"'],
  [{ role: 'toString' }, 'role', 'unknown role "toString"'],
  [{ role: '' }, 'role', 'must not be empty'],
  [{ grants: [] }, 'grants', 'must not be empty'],
  [{ grants: Array.from({ length: 65 }, () => viewerEverywhere) }, 'grants', 'must contain at most 64 elements'],
  [{ role: 'viewer', grants: [viewerEverywhere] }, 'grants', 'only one of role and grants can be present'],
  [
    { namespaceKey: 'shop', grants: [viewerEverywhere] },
    'grants',
    'only one of namespaceKey and grants can be present',
  ],
  [{ grants: [{ namespaceKey: '*' }] }, 'grants[0]', 'needs either role or rights'],
  [
    { grants: [viewerEverywhere, { role: 'viewer', rights: ['flag.read'], namespaceKey: '*' }] },
    'grants[1]',
    'needs either role or rights',
  ],
  [{ grants: [null] }, 'grants[0]', 'must not be empty'],
  [{ grants: [{ role: 'viewer' }] }, 'grants[0].namespaceKey', 'must not be empty'],
  [{ grants: [{ role: 'viewer', namespaceKey: ' ' }] }, 'grants[0].namespaceKey', 'must not be empty'],
  [{ grants: [{ role: 'boss', namespaceKey: '*' }] }, 'grants[0].role', 'unknown role "boss"'],
  [{ grants: [{ role: '', namespaceKey: '*' }] }, 'grants[0].role', 'must not be empty'],
  [{ grants: [{ rights: [], namespaceKey: '*' }] }, 'grants[0].rights', 'must not be empty'],
  [{ grants: [{ rights: ['flag.fly'], namespaceKey: '*' }] }, 'grants[0].rights', 'unknown right "flag.fly"'],
  [{ grants: [{ rights: ['*'], namespaceKey: '*' }] }, 'grants[0].rights', 'unknown right "*"'],
  ...RIGHTS.filter((right) => /^(audit|config|subject)|namespace\.(create|delete)/.test(right)).map(
    (right) =>
      [
        { grants: [{ rights: [right], namespaceKey: 'shop' }] },
        'grants[0].rights',
        `"${right}" can only be granted in every namespace`,
      ] as const,
  ),
]

await t.test('invalid roles and grants of a new token are refused', async (t) => {
  const service = await withShop(await startService(t))
  for (const [body, field, description] of rules) {
    const answer = await create(service, body)
    const { status, code, reason, message } = refusalOf(answer)
    t.strictSame(
      { status, code, reason, message },
      { status: 400, code: 3, reason: 'invalid_argument', message: `invalid field ${field}: ${description}` },
      JSON.stringify(body).slice(0, 100),
    )
    const [{ value }] = (answer.json as unknown as Problem).details
    t.match(value, { fieldViolations: [{ field, description }] })
  }
  for (const body of [
    { role: 5 },
    { grants: 'x' },
    { grants: ['x'] },
    { grants: [{ rights: 'x', namespaceKey: '*' }] },
  ])
    t.match(refusalOf(await create(service, body)), { status: 400, reason: 'malformed_body' }, JSON.stringify(body))
  t.match(
    refusalOf(await create(service, { grants: [{ role: 'viewer', namespaceKey: '*', namespace_key: '*' }] })),
    { reason: 'malformed_body' },
    'both spellings',
  )
  for (const body of [
    { grants: [viewerEverywhere, { role: 'viewer', namespaceKey: 'nowhere' }] },
    { role: 'viewer', namespaceKey: 'nowhere' },
  ])
    t.match(refusalOf(await create(service, body)), {
      status: 404,
      reason: 'not_found',
      message: 'namespace "nowhere" not found',
    })
})

await t.test('metadata of a token neither grant nor remove rights', async (t) => {
  const service = await startService(t)
  const metadata = { 'io.service.auth.role': 'admin', role: 'admin', grants: '[{"role":"admin","namespaceKey":"*"}]' }
  const { clientToken, record } = await made(service, { role: 'client', metadata })
  t.match(record.metadata, metadata)
  const { json } = await service.request('GET', '/auth/v1/access', undefined, bearer(clientToken))
  t.match(json, { full: false, publishable: true, places: [{ namespaceKey: '*', rights: ['flag.evaluate'] }] })
  const reading = await service.request('GET', '/api/v1/flags', undefined, bearer(clientToken))
  t.equal(refusalOf(reading).reason, 'right_missing')
})

await t.test('token records can be filtered by their kind of access', async (t) => {
  const service = await withShop(await startService(t))
  const ids = {
    full: (await made(service, { name: 'full' })).record.id,
    admin: (await made(service, { name: 'admin', role: 'admin' })).record.id,
    bound: (await made(service, { name: 'bound', namespaceKey: 'shop' })).record.id,
    narrowed: (await made(service, { name: 'narrowed', namespaceKey: 'shop', role: 'client' })).record.id,
    granted: (await made(service, { name: 'granted', role: 'editor' })).record.id,
    owner: (await made(service, { name: 'owner', grants: [{ role: 'admin', namespaceKey: 'shop' }] })).record.id,
  }
  const { json: gone, headers } = await create(service, { name: 'gone', role: 'viewer' })
  const before = headers['event-position']
  await service.request('DELETE', `/auth/v1/tokens/${gone.authentication.id}`)
  const list = async (search: string) => {
    const { json } = await service.request<{ authentications: readonly Authentication[]; totalCount: number }>(
      'GET',
      `/auth/v1/tokens?${search}`,
    )
    t.equal(json.totalCount, json.authentications.length, search)
    return json.authentications.map(({ id }) => id)
  }
  const [, ...full] = await list('access=FULL')
  t.strictSame(full, [ids.full, ids.admin], 'admin of everything is full reach')
  t.strictSame(await list('access=NAMESPACED'), [ids.bound, ids.narrowed])
  t.strictSame(await list('access=GRANTED'), [ids.granted, ids.owner])
  t.strictSame(await list('access=GRANTED&order=desc&sort=name'), [ids.owner, ids.granted])
  t.strictSame(await list('access=GRANTED&status=DELETED'), [gone.authentication.id])
  t.strictSame(await list(`access=GRANTED&at=${String(before)}`), [ids.granted, ids.owner, gone.authentication.id])
  t.strictSame(await list('access=NAMESPACED&namespaceKey=other'), [])
  t.match(refusalOf(await service.request('GET', '/auth/v1/tokens?access=ALL')), {
    status: 400,
    message: 'invalid field access: unknown value "ALL"',
  })
  const { json: page } = await service.request<{ nextPageToken: string }>(
    'GET',
    '/auth/v1/tokens?access=GRANTED&limit=1',
  )
  const other = await service.request('GET', `/auth/v1/tokens?limit=1&pageToken=${page.nextPageToken}`)
  t.equal(refusalOf(other).reason, 'invalid_page_token', 'its pages are of this filter')
})

await t.test('if a role is required, only the first token may be without one', async (t) => {
  const service = await startService(t, { 'authorization.require_role': 'true' })
  for (const body of [{}, { namespaceKey: 'default' }, { role: null, grants: null }])
    t.match(refusalOf(await create(service, body)), {
      status: 400,
      message: 'invalid field role: must not be empty',
    })
  t.match((await made(service, { role: 'client' })).record, { grants: [{ role: 'client' }] })
  const grants = [{ rights: ['flag.read'], namespaceKey: 'default' }]
  t.match((await made(service, { grants })).record, { grants })
  const { json } = await service.request('GET', '/auth/v1/access')
  t.match(json, { full: true }, 'the bootstrap token is excepted')
})

await t.test('configured roles are accepted, and a token keeps the rights its role had', async (t) => {
  const file = { authorization: { roles: { release: ['flag.update', 'flag.read'] } } }
  const service = await startService(t, {}, { file })
  type Listed = { readonly roles: readonly { readonly name: string; readonly builtIn: boolean }[] }
  const { roles } = (await service.request<Listed>('GET', '/auth/v1/roles')).json
  t.match(roles.at(-1), {
    name: 'release',
    builtIn: false,
    rights: ['flag.read', 'flag.update'],
    grantable: ['*'],
  })
  t.ok(roles.slice(0, -1).every(({ builtIn }) => builtIn))
  const { record, clientToken } = await made(service, { role: 'release' })
  t.strictSame(record.grants, [{ namespaceKey: '*', role: 'release', rights: ['flag.read', 'flag.update'] }])
  await service.close()
  const wider = { authorization: { roles: { release: ['flag.read', 'flag.update', 'flag.delete'] } } }
  const again = await startService(t, {}, { file: wider, directory: service.directory })
  const { json } = await again.request('GET', '/auth/v1/access', undefined, bearer(clientToken))
  t.match(json, { places: [{ namespaceKey: '*', rights: ['flag.read', 'flag.update'] }] })
  t.match((await made(again, { role: 'release' })).record.grants, [{ rights: { length: 3 } }])
})
