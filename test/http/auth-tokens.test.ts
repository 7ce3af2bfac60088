import t from 'tap'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import {
  type Authentication,
  bearer,
  CODEHOST,
  EXCHANGE,
  everyWay,
  type Issued,
  logIn,
  OIDC,
  open,
  type Problem,
  refusalOf,
} from './people.ts'

const TOKEN = '/auth/v1/method/token'
const TOKENS = '/auth/v1/tokens'
type Page = {
  readonly authentications: readonly Authentication[]
  readonly nextPageToken: string
  readonly totalCount: number
}

const create = async ({ request }: Started, body: object, headers = {}) => request<Issued>('POST', TOKEN, body, headers)
const list = async ({ request }: Started, search = '') => request<Page>('GET', `${TOKENS}?${search}`)
const names = ({ authentications }: Page) =>
  authentications.map(({ metadata }) => metadata['io.service.auth.token.name'])
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

await t.test('all login methods are listed, whether enabled or not', async (t) => {
  const service = await startService(t, { 'server.public_url': 'https://flags.example.com/base' })
  const { json } = await service.request<{ methods: object[] }>('GET', '/auth/v1/method', undefined, open)
  const paths = (word: string) => ({
    authorize_url: `/base/auth/v1/method/${word}/authorize`,
    callback_url: `/base/auth/v1/method/${word}/callback`,
  })
  t.strictSame(json.methods, [
    { method: 'METHOD_TOKEN', enabled: true, sessionCompatible: false },
    { method: 'METHOD_CODEHOST', enabled: false, sessionCompatible: true, metadata: paths('codehost') },
    { method: 'METHOD_OIDC', enabled: false, sessionCompatible: true, metadata: { providers: {}, order: [] } },
    { method: 'METHOD_ORCHESTRATOR', enabled: false, sessionCompatible: false },
  ])
  for (const path of ['/auth/v1/method/oidc/main/authorize', `${CODEHOST}/authorize`])
    t.equal(
      refusalOf(await service.request('GET', path, undefined, open)).reason,
      'route_not_found',
      'a method that is off is not mounted',
    )
  t.equal(refusalOf(await service.request('POST', EXCHANGE, {}, open)).reason, 'route_not_found')
})

await t.test('a token can make its own expiry earlier, but not later', async (t) => {
  const service = await startService(t)
  const { request } = service
  const self = (token: string) => request<Authentication>('GET', '/auth/v1/self', undefined, bearer(token))
  const expire = (token: string, search: string, body?: object) =>
    request('PUT', `/auth/v1/self/expire${search}`, body, bearer(token))
  const made = async (more = {}) => (await create(service, { name: 'n', ...more })).json

  const { clientToken: never } = await made()
  const [later, sooner] = [inAnHour(), new Date(Date.now() + 60_000).toISOString()]
  t.equal((await expire(never, `?expiresAt=${later}`)).status, 200, 'a token without expiry can be given any')
  t.strictSame(refusalOf(await expire(never, `?expires_at=${new Date(Date.parse(later) + 1).toISOString()}`)), {
    status: 400,
    code: 3,
    reason: 'expiry_not_earlier',
    message: 'invalid field expiresAt: must not be later than the present expiry',
  })
  const before = await self(never)
  const same = await expire(never, '', { expiresAt: later })
  t.equal(same.status, 200)
  t.equal((await self(never)).headers.etag, before.headers.etag, 'equal to the present expiry: nothing changes')
  t.match(same.headers['event-position'], /^\d+$/)
  t.equal(
    (await expire(never, `?expiresAt=${encodeURIComponent(sooner)}`, { expiresAt: 'not looked at later than' })).status,
    400,
    'both are read',
  )
  t.equal((await expire(never, `?expiresAt=${sooner}`, { expiresAt: later })).status, 200)
  t.equal((await self(never)).json.expiresAt?.slice(0, 19), sooner.slice(0, 19), 'the query comes first')
  t.strictSame(refusalOf(await expire(never, '?expiresAt=tomorrow')), {
    status: 400,
    code: 3,
    reason: 'invalid_argument',
    message: 'invalid field expiresAt: must be an RFC 3339 timestamp',
  })
  const cleared = await expire(never, '?expiresAt=2001-01-01T00:00:00Z')
  t.equal(cleared.status, 200, 'a past instant counts as now')
  t.notOk(cleared.headers['set-cookie'], 'whose bearer it was has no cookie to clear')
  t.equal((await self(never)).status, 401)

  const { clientToken: now, authentication } = await made({ expiresAt: later })
  t.equal((await expire(now, '')).status, 200)
  t.equal(refusalOf(await self(now)).reason, 'credential_invalid')
  const { json } = await request<Authentication>('GET', `${TOKENS}/${authentication.id}`)
  t.equal(json.status, 'EXPIRED', 'it stays listed until cleanup')
})

await t.test('tokens are listed with filters and pages', async (t) => {
  const service = await startService(t)
  const { request } = service
  const made: string[] = []
  for (const n of [1, 2, 3, 4, 5]) {
    const { json } = await create(service, { name: `Blue-${n}`, ...(n === 5 && { namespaceKey: 'default' }) })
    made.push(json.authentication.id)
  }
  const { json: gone } = await create(service, { name: 'gone', description: 'kept', metadata: { own: 'x' } })
  await request('DELETE', `${TOKENS}/${gone.authentication.id}`)

  const all = (await list(service)).json
  t.strictSame(names(all), ['initial_bootstrap_token', 'Blue-1', 'Blue-2', 'Blue-3', 'Blue-4', 'Blue-5'])
  t.equal(all.totalCount, 6)
  t.equal(all.nextPageToken, '')
  for (const [search, found] of [
    ['q=BLUE-', 5],
    ['q=lue', 0],
    ['q=&limit=&method=&status=', 6],
    ['namespaceKey=default', 1],
    ['namespace_key=other', 0],
    ['method=METHOD_TOKEN', 6],
    ['method=1', 6],
    ['method=METHOD_NONE', 6],
    ['method=METHOD_OIDC', 0],
    ['method=METHOD_JWT', 0],
    ['status=ACTIVE', 6],
    ['status=EXPIRED', 0],
    ['status=DELETED', 1],
    ['identity=Blue-1', 1],
    ['identity=blue-1', 0],
    ['identity=Blue-1&method=METHOD_OIDC', 0],
  ] as const)
    t.equal((await list(service, search)).json.totalCount, found, search)
  const [deleted] = (await list(service, 'status=DELETED')).json.authentications
  t.match(deleted, {
    status: 'DELETED',
    metadata: { own: 'x', 'io.service.auth.token.description': 'kept' },
    deletedAt: /Z$/,
  })
  t.notMatch(JSON.stringify(deleted), /digest|rct_/, 'never with a secret')

  const seen: (string | undefined)[] = []
  let pageToken = ''
  do {
    const { json } = await list(service, `limit=2&pageToken=${pageToken}`)
    seen.push(...names(json))
    t.equal(json.totalCount, seen.length > 4 ? 5 : 6)
    pageToken = json.nextPageToken
    if (seen.length === 4) await request('DELETE', `${TOKENS}/${made[0]}`)
  } while (pageToken !== '')
  t.strictSame(
    seen,
    ['initial_bootstrap_token', 'Blue-1', 'Blue-2', 'Blue-3', 'Blue-4', 'Blue-5'],
    'a concurrent deletion hides no other token',
  )

  const { nextPageToken } = (await list(service, 'limit=1')).json
  for (const search of [
    `pageToken=x`,
    `pageToken=${nextPageToken}&q=blue`,
    `pageToken=${nextPageToken}&status=ACTIVE`,
  ]) {
    const answer = await list(service, search)
    t.match(
      refusalOf(answer),
      { status: 400, code: 3, reason: 'invalid_page_token', message: /^pageToken is not valid: "/ },
      search,
    )
  }
  for (const [search, message] of [
    ['limit=-1', 'invalid field limit: must not be negative'],
    ['limit=1.5', 'invalid field limit: must be an integer'],
    ['limit=x', 'invalid field limit: must be an integer'],
    ['method=METHOD_X', 'invalid field method: unknown value "METHOD_X"'],
    ['status=GONE', 'invalid field status: unknown value "GONE"'],
    ['limit=1&limit=2', 'invalid field limit: given twice'],
  ] as const)
    t.match(refusalOf(await list(service, search)), { status: 400, reason: 'invalid_argument', message }, search)
  t.equal(refusalOf(await request('DELETE', TOKENS)).reason, 'method_not_allowed', 'the collection cannot be deleted')
})

await t.test('the limit for the size of a page also applies to the list of tokens', async (t) => {
  const limit = 1_048_576
  const service = await startService(t, { 'server.max_response_bytes': String(limit) })
  const metadata = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`k${n}`, 'v'.repeat(1_000)]))
  for (let n = 0; n < 99; n++) {
    const { status, text } = await create(service, { name: `t${n}`, metadata })
    if (status !== 200) t.fail(text)
  }
  for (const at of ['', `&at=${new Date().toISOString()}`]) {
    const first = await list(service, `limit=100${at}`)
    t.ok(first.text.length <= limit, `${first.text.length} bytes`)
    t.equal(first.json.totalCount, 100)
    const rest = await list(service, `limit=100&pageToken=${first.json.nextPageToken}${at}`)
    t.equal(first.json.authentications.length + rest.json.authentications.length, 100)
  }
})

await t.test('a page has at most 100 token records, and 25 by default', async (t) => {
  const service = await startService(t)
  await Promise.all(Array.from({ length: 104 }, (_, n) => create(service, { name: `n${n}` })))
  for (const [limit, length] of [
    ['', 25],
    ['limit=0', 25],
    ['limit=1000', 100],
  ] as const)
    t.equal((await list(service, limit)).json.authentications.length, length, limit)
})

await t.test('token records can be read as of a past moment', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, {}, { clock })
  const { request } = service
  const first = await create(service, { name: 'first', expiresAt: inAnHour() })
  const at = first.headers['event-position'] as string
  const instant = clock.now().toISOString()
  await clock.advance(1)
  const { id } = first.json.authentication
  await request('PUT', '/auth/v1/self/expire', {}, bearer(first.json.clientToken))
  await create(service, { name: 'second' })
  await request('DELETE', `${TOKENS}/${id}`)
  t.equal((await request('GET', `${TOKENS}/${id}`)).status, 404)
  for (const moment of [at, instant]) {
    const { json } = await list(service, `at=${moment}`)
    t.strictSame(names(json), ['initial_bootstrap_token', 'first'])
    t.equal((await list(service, `at=${moment}&q=fir&status=ACTIVE`)).json.totalCount, 1)
    const one = await request<Authentication>('GET', `${TOKENS}/${id}?at=${moment}`)
    t.match(one.json, { status: 'ACTIVE', expiresAt: first.json.authentication.expiresAt })
    t.equal(one.headers.etag, '"1"')
  }
  const { nextPageToken } = (await list(service, `at=${at}&limit=1`)).json
  t.strictSame(names((await list(service, `at=${at}&limit=1&pageToken=${nextPageToken}`)).json), ['first'])
  t.equal((await list(service, 'at=2001-01-01T00:00:00Z')).json.totalCount, 0, 'before the first event')
  t.equal((await request('GET', `${TOKENS}/${id}?at=2001-01-01T00:00:00Z`)).status, 404)
  for (const wrong of ['99999999', '2999-01-01T00:00:00Z', 'then'])
    t.equal(refusalOf(await list(service, `at=${wrong}`)).reason, 'invalid_at', wrong)
})

await t.test('a token record can be read and deleted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const { json, headers } = await create(service, { name: 'one' })
  const { id } = json.authentication
  const got = await request<Authentication>('GET', `${TOKENS}/${id}`)
  t.strictSame(got.json, json.authentication)
  t.equal(got.headers.etag, headers.etag)
  t.equal((await request('GET', `${TOKENS}/${id}`, undefined, { 'if-none-match': got.headers.etag! })).status, 304)
  for (const unknown of ['no-uuid', '5d1c3a70-8f2e-4b6d-9a10-000000000001'])
    t.strictSame(refusalOf(await request('GET', `${TOKENS}/${unknown}`)), {
      status: 404,
      code: 5,
      reason: 'not_found',
      message: `authentication "${unknown}": resource not found`,
    })
  t.equal((await request('DELETE', `${TOKENS}/${id}`, undefined, { 'if-match': '"7"' })).status, 412)
  const own = await request('DELETE', `${TOKENS}/${id}`, undefined, bearer(json.clientToken))
  t.equal(own.status, 200, 'a caller may delete its own token')
  t.strictSame(own.json, {})
  t.equal((await request('GET', '/auth/v1/self', undefined, bearer(json.clientToken))).status, 401)
  t.equal((await request('GET', `${TOKENS}/${id}`)).status, 404)
  const again = await request('DELETE', `${TOKENS}/${id}`)
  t.equal(again.status, 200, 'deleting is idempotent')
  t.equal(again.headers['event-position'], own.headers['event-position'], 'and writes nothing')
  t.equal((await request('DELETE', `${TOKENS}/unknown`)).status, 200)
  t.equal((await request('DELETE', `${TOKENS}/unknown`, undefined, { 'if-match': '*' })).status, 412)
})

await t.test('every field of a new static token is checked', async (t) => {
  const service = await startService(t)
  const reserved = [
    'token.name',
    'oidc.email',
    'codehost.sub',
    'orchestrator.pod.uid',
    'claims',
    'email',
    'name',
    'picture',
  ]
  const rows: readonly (readonly [object, string, number?, string?])[] = [
    [{}, 'invalid field name: must not be empty'],
    [{ name: ' \t' }, 'invalid field name: must not be empty'],
    [{ name: 'x'.repeat(256) }, 'invalid field name: must be at most 255 characters'],
    [{ name: 'a\u0007b' }, 'invalid field name: must not contain control characters'],
    ...['\u200b', '\u200d\u2060', '\u3164', '\u00ad \u200c', '\u202egnp.exe', 'a\u2066b', 'a\u200fb', '\u061ca'].map(
      (name) =>
        [{ name }, 'invalid field name: must be text that can be seen, without marks that turn its direction'] as const,
    ),
    [{ name: 'n', description: 'x'.repeat(1025) }, 'invalid field description: must be at most 1024 characters'],
    [{ name: 'n', expiresAt: '2001-01-01T00:00:00Z' }, 'invalid field expiresAt: must be in the future'],
    [{ name: 'n', expires_at: 'soon' }, 'invalid field expiresAt: must be an RFC 3339 timestamp'],
    [{ name: 'n', namespaceKey: 'nowhere' }, 'namespace "nowhere" not found', 404, 'not_found'],
    [
      { name: 'n', metadata: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, ''])) },
      'invalid field metadata: must have at most 32 entries',
    ],
    [{ name: 'n', metadata: { ['k'.repeat(129)]: '' } }, 'invalid field metadata: keys must be 1 to 128 characters'],
    [
      { name: 'n', metadata: { k: 'v'.repeat(1025) } },
      'invalid field metadata: values must be at most 1024 characters',
    ],
    ...reserved.map((key) => {
      const name = `io.service.auth.${key}`
      return [{ name: 'n', metadata: { [name]: 'x' } }, `invalid field metadata: key "${name}" is reserved`] as const
    }),
    [{ name: 5 }, 'request body is not valid: name must be text', 400, 'malformed_body'],
    [
      { name: 'n', expiresAt: 'soon', expires_at: 'soon' },
      'request body is not valid: expiresAt and expires_at are the same field',
      400,
      'malformed_body',
    ],
  ]
  for (const [body, message, status = 400, reason = 'invalid_argument'] of rows) {
    const answer = await create(service, body)
    t.match(refusalOf(answer), { status, reason, message }, message)
  }
  const expiresAt = inAnHour()
  const { status, json, headers } = await create(service, {
    name: '  n  ',
    namespaceKey: '  ',
    expires_at: expiresAt,
    metadata: { 'io.service.auth.role': 'admin', empty: null },
    unknown: 1,
  })
  t.equal(status, 200)
  t.match(json.clientToken, /^rct_[0-9A-Za-z]{49}$/)
  t.strictSame(json.authentication.metadata, {
    'io.service.auth.token.name': 'n',
    'io.service.auth.role': 'admin',
    empty: '',
  })
  t.equal(Date.parse(json.authentication.expiresAt!), Date.parse(expiresAt))
  t.match(headers['event-position'], /^\d+$/)
  t.equal(
    (await create(service, { name: 'n' }, { 'if-match': '*' })).status,
    412,
    'nothing is there before it is created',
  )
})

await t.test('repeated creations of a token with one key have one effect and return the secret once', async (t) => {
  const service = await startService(t)
  const key = { 'idempotency-key': 'once' }
  const body = { name: 'idempotent' }
  const answers = await Promise.all(Array.from({ length: 10 }, () => create(service, body, key)))
  t.ok(answers.every(({ status }) => status === 200))
  const shown = answers.filter(({ json }) => json.clientToken !== undefined)
  t.equal(shown.length, 1)
  const first = shown[0]!
  await service.reopen()
  answers.push(await create(service, body, key))
  for (const answer of answers) {
    t.strictSame(answer.json.authentication, first.json.authentication)
    t.equal(answer.headers['event-position'], first.headers['event-position'])
    if (answer === first) continue
    t.equal(answer.headers['idempotency-replayed'], 'true')
    t.equal(refusalOf(answer).reason, 'secret_already_shown')
    const { details } = answer.json as unknown as Problem
    t.equal(details[0].value.metadata['requestId'], answer.headers['x-request-id'])
  }
  t.equal((await list(service, 'q=idempotent')).json.totalCount, 1)
  t.strictSame(refusalOf(await create(service, { name: 'other' }, key)), {
    status: 409,
    code: 10,
    reason: 'idempotency_mismatch',
    message: 'idempotency key was used with another request',
  })
  t.equal(refusalOf(await create(service, body, { 'idempotency-key': 'a b' })).reason, 'invalid_header')
  t.equal((await create(service, {}, { 'idempotency-key': 'again' })).status, 400)
  t.equal((await create(service, body, { 'idempotency-key': 'again' })).status, 200, 'a refusal is not kept')
})

await t.test('all active tokens of a holder, of any login method, are revoked together', async (t) => {
  const { service, liar, cluster } = await everyWay(t)
  const { request, directory } = service
  const revoke = (body: object, headers = {}) => request<{ revoked: number }>('POST', `${TOKENS}/revoke`, body, headers)
  const valid = async (token: string) =>
    (await request('GET', '/auth/v1/self', undefined, bearer(token))).status === 200

  const alices = [(await logIn(service, OIDC)).token, (await logIn(service, OIDC)).token]
  liar.lies = { claims: { sub: 'bob' } }
  const bob = (await logIn(service, OIDC)).token
  const seven = (await logIn(service, CODEHOST)).token
  const exchange = async () =>
    (await request<Issued>('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)).json.clientToken
  const web = [await exchange(), await exchange()]
  const deploy = [
    (await create(service, { name: 'deploy' })).json.clientToken,
    (await create(service, { name: 'Deploy' })).json.clientToken,
  ]

  for (const [identity, method, found] of [
    ['alice', 'METHOD_NONE', 2],
    ['alice', 'METHOD_OIDC', 2],
    ['alice', 'METHOD_CODEHOST', 0],
    ['7', 'METHOD_NONE', 1],
    ['apps/web', 'METHOD_ORCHESTRATOR', 2],
    ['deploy', 'METHOD_NONE', 1],
  ] as const)
    t.equal(
      (await list(service, `identity=${encodeURIComponent(identity)}&method=${method}`)).json.totalCount,
      found,
      `${identity} ${method}`,
    )

  for (const [body, message] of [
    [{}, 'invalid field method: must not be empty'],
    [{ method: 'METHOD_OIDC' }, 'invalid field identity: must not be empty'],
    [{ identity: 'alice' }, 'invalid field method: must not be empty'],
    [{ method: 'METHOD_NONE', identity: 'alice' }, 'invalid field method: unknown value "METHOD_NONE"'],
    [{ method: 'METHOD_JWT', identity: 'alice' }, 'invalid field method: unknown value "METHOD_JWT"'],
    [
      { method: 'METHOD_CODEHOST', identity: '7', provider: 'main' },
      'invalid field provider: only METHOD_OIDC has providers',
    ],
  ] as const)
    t.match(refusalOf(await revoke(body)), { status: 400, code: 3, reason: 'invalid_argument', message })

  t.match((await revoke({ method: 'METHOD_OIDC', identity: 'alice', provider: 'other' })).json, { revoked: 0 })
  t.ok(await valid(alices[0]!))

  await service.close()
  const later = await startService(t, {}, { directory })
  const asked = (token: string) => later.request('GET', '/auth/v1/self', undefined, bearer(token))
  const revoked = await later.request(
    'POST',
    `${TOKENS}/revoke`,
    { method: 'METHOD_OIDC', identity: 'alice', provider: 'main' },
    { 'idempotency-key': 'k', 'x-request-id': 'cause-of-it-all' },
  )
  t.match(revoked.json, { revoked: 2 }, 'a provider that is configured no more is no hindrance')
  t.match(revoked.headers['event-position'], /^\d+$/)
  const { completeTo } = revoked.json as unknown as { completeTo: string }
  t.ok(BigInt(completeTo) > 0n && BigInt(completeTo) < BigInt(String(revoked.headers['event-position'])))
  for (const token of alices) t.equal((await asked(token)).status, 401)
  const again = await later.request(
    'POST',
    `${TOKENS}/revoke`,
    { method: 'METHOD_OIDC', identity: 'alice', provider: 'main' },
    { 'idempotency-key': 'k' },
  )
  t.match(again.json, { revoked: 2 })
  t.equal(again.headers['idempotency-replayed'], 'true')
  for (const [body, count] of [
    [{ method: 'METHOD_OIDC', identity: 'alice' }, 0],
    [{ method: 'METHOD_ORCHESTRATOR', identity: 'apps/web' }, 2],
    [{ method: 'METHOD_CODEHOST', identity: '7' }, 1],
    [{ method: 'METHOD_TOKEN', identity: 'deploy' }, 1],
    [{ method: 1, identity: 'DEPLOY' }, 0],
  ] as const)
    t.match((await later.request('POST', `${TOKENS}/revoke`, body)).json, { revoked: count }, JSON.stringify(body))
  for (const token of [...web, seven, deploy[0]!]) t.equal((await asked(token)).status, 401)
  for (const token of [bob, deploy[1]!]) t.equal((await asked(token)).status, 200, 'other tokens stay valid')
})
