import t from 'tap'
import { type Started, startService } from '../start.ts'
import { type Authentication, bearer, EXCHANGE, everyWay, type Issued, logIn, OIDC, open } from './people.ts'

const TOKENS = '/auth/v1/tokens'
type Page = {
  readonly authentications: readonly Authentication[]
  readonly nextPageToken: string
  readonly totalCount: number
}

const makeToken = async ({ request }: Started, name: string, maker?: string): Promise<Issued> =>
  (await request<Issued>('POST', '/auth/v1/method/token', { name }, maker === undefined ? {} : bearer(maker))).json
const list = async ({ request }: Started, search: string) => (await request<Page>('GET', `${TOKENS}?${search}`)).json

await t.test('a token record has the id of its creator, and lists can be filtered by it', async (t) => {
  const { service, cluster } = await everyWay(t)
  const { request } = service
  const self = async (token: string) =>
    (await request<Authentication>('GET', '/auth/v1/self', undefined, bearer(token))).json
  const login = await logIn(service, OIDC)
  const first = await makeToken(service, 'first', login.token)
  const second = await makeToken(service, 'second', first.clientToken)
  const exchanged = await request<Issued>('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)

  t.equal(first.authentication.ending, first.clientToken.slice(-4))
  t.equal((await self(first.clientToken)).ending, first.clientToken.slice(-4))
  for (const { ending } of [login.authentication, exchanged.json.authentication, await self(service.token)])
    t.equal(ending, undefined, 'kept of created static tokens only')
  t.equal(first.authentication.issuedBy, login.authentication.id)
  t.equal((await self(second.clientToken)).issuedBy, first.authentication.id)
  t.equal(
    (await request<Authentication>('GET', `${TOKENS}/${second.authentication.id}`)).json.issuedBy,
    first.authentication.id,
  )
  for (const { authentication } of [login, exchanged.json])
    t.notOk('issuedBy' in authentication, 'a login has no creator')
  t.notOk('issuedBy' in (await list(service, 'limit=1')).authentications[0]!, 'nor is the bootstrap token')

  const mine = `issuedBy=${login.authentication.id}`
  const more = await makeToken(service, 'more', login.token)
  const { 'event-position': at } = (await request('DELETE', `${TOKENS}/unknown`)).headers
  const page = await list(service, `limit=1&${mine}`)
  t.equal(page.totalCount, 2)
  const [one, ...others] = page.authentications
  t.match(one, { ...first.authentication, lastUsedAt: /T\d\d:00:00Z$/ }, 'it was used since')
  t.strictSame(others, [])
  const { authentications } = await list(service, `limit=1&${mine}&pageToken=${page.nextPageToken}`)
  t.strictSame(authentications, [more.authentication])
  t.equal(
    (await request('GET', `${TOKENS}?limit=1&pageToken=${page.nextPageToken}`)).status,
    400,
    'the place belongs to the filter',
  )
  await request('DELETE', `${TOKENS}/${more.authentication.id}`)
  t.equal((await list(service, mine)).totalCount, 1)
  t.equal((await list(service, `${mine}&status=DELETED`)).totalCount, 1)
  t.equal((await list(service, `${mine}&at=${String(at)}`)).totalCount, 2)
  t.equal((await list(service, 'issued_by=nobody')).totalCount, 0)
})

await t.test('a token that was created without a credential has no creator', async (t) => {
  const service = await startService(t, { 'authentication.required': 'false' })
  const { json } = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'free' }, open)
  t.notOk('issuedBy' in json.authentication)
})

await t.test('includeIssued revokes the tokens of a holder and all tokens that these have created', async (t) => {
  const { service } = await everyWay(t)
  const { request } = service
  const status = async (token: string) => (await request('GET', '/auth/v1/self', undefined, bearer(token))).status
  const revoke = (body: object, headers = {}) => request<{ revoked: number }>('POST', `${TOKENS}/revoke`, body, headers)
  const alice = { method: 'METHOD_OIDC', identity: 'alice' }
  const { token } = await logIn(service, OIDC)

  const deleted = await makeToken(service, 'deleted', token)
  const expired = await makeToken(service, 'expired', deleted.clientToken)
  const last = await makeToken(service, 'last', expired.clientToken)
  const many = await Promise.all(Array.from({ length: 120 }, (_, n) => makeToken(service, `n${n}`, token)))
  const below = await makeToken(service, 'below', many[0]!.clientToken)
  const other = await makeToken(service, 'other')
  await request('DELETE', `${TOKENS}/${deleted.authentication.id}`)
  await request('PUT', '/auth/v1/self/expire', {}, bearer(expired.clientToken))

  t.match((await revoke(alice)).json, { revoked: 1 }, 'without it, the login alone')
  for (const { clientToken } of [last, below, ...many.slice(0, 3)]) t.equal(await status(clientToken), 200)

  const asked = { ...alice, includeIssued: true }
  const key = { 'idempotency-key': 'who-left' }
  t.match((await revoke(asked, key)).json, { revoked: 122 }, 'also behind what ended before')
  for (const { clientToken } of [last, below, ...many]) t.equal(await status(clientToken), 401)
  t.equal(await status(other.clientToken), 200, 'other tokens stay valid')
  t.equal(
    (await list(service, `issuedBy=${deleted.authentication.id}&status=EXPIRED`)).totalCount,
    1,
    'what had expired is left as it was',
  )
  t.match((await revoke(asked, key)).json, { revoked: 122 })
  t.match((await revoke(asked)).json, { revoked: 0 })
  t.equal((await revoke({ ...alice, includeIssued: 'yes' })).status, 400)
})
