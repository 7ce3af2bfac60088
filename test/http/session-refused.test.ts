import t from 'tap'
import { rowOf } from './causes.ts'
import { eventsOf } from './events-of.ts'
import { bearer, cookiesOf, everyWay, logIn, OIDC, open, type Problem, refusalOf, type Settings } from './people.ts'
import { destroyKeys, erasePeople, loseKeys } from './subjects.ts'

const matching: Settings = {
  'authentication.methods.oidc.email_matches': '[".*@example\\\\.com", "ada@partner\\\\.example"]',
}
/** Claims of the earlier logins, when every email was allowed. */
const YESTERDAY = {
  email_absent: {},
  email_unverified: { email: 'canary-1@example.com', email_verified: false },
  email_unsaid: { email: 'canary-2@example.com' },
  email_unmatched: { email: 'canary-4@partner.example', email_verified: true },
} as const
type Line = Readonly<Record<string, unknown>>

await t.test('a session is refused for the same reasons as a login', async (t) => {
  const before = await everyWay(t)
  const { directory } = before.service
  const sessions: { cause: string; token: string; id: string }[] = []
  for (const [cause, claims] of Object.entries(YESTERDAY)) {
    before.liar.lies = { claims }
    const { token, authentication } = await logIn(before.service, OIDC)
    sessions.push({ cause, token, id: authentication.id })
  }
  before.liar.lies = { claims: { email: 'ada@example.com', email_verified: true } }
  const welcome = await logIn(before.service, OIDC)
  await before.service.close()

  const { service } = await everyWay(t, matching, { directory })
  const linesOf = async (id: string): Promise<readonly Line[]> =>
    (await service.logged())
      .split('\n')
      .filter((line) => line.includes('a session was refused') && line.includes(`"tokenId":"${id}"`))
      .map((line) => JSON.parse(line) as Line)
  const cookieOf = (token: string) => ({ ...open, cookie: `service_client_token=${token}` })

  for (const [n, { cause, token, id }] of sessions.entries())
    await t.test(cause, async (t) => {
      const { why, change } = rowOf(cause)
      const requestId = `of-${cause}`
      const isPage = n % 2 === 1
      const headers = { ...(isPage ? cookieOf(token) : bearer(token)), 'x-request-id': requestId }
      const answer = await service.request<Problem>('GET', '/auth/v1/self', undefined, headers)
      t.strictSame(refusalOf(answer), {
        status: 401,
        code: 16,
        reason: 'email_not_allowed',
        message: 'request was not authenticated',
      })
      t.notMatch(answer.text, /cause|email_matches|canary/, 'the client learns no more than before')
      if (isPage) t.match(cookiesOf(answer)['service_client_token'], { value: '' }, 'the cookie is cleared')
      const reason = 'email_not_allowed'
      const told = { requestId, route: '/auth/v1/self', tokenId: id, provider: 'main', reason, cause, why, change }
      t.match(await linesOf(id), [told])
      for (let again = 0; again < 3; again++)
        t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401)
      t.equal((await linesOf(id)).length, 1, 'it is logged once a minute')
    })

  await t.test('a session whose e-mail address is allowed continues', async (t) => {
    const { status } = await service.request('GET', '/auth/v1/self', undefined, bearer(welcome.token))
    t.equal(status, 200)
    t.strictSame(await linesOf(welcome.authentication.id), [])
  })
  t.notMatch(await service.logged(), /canary/)
  await service.close()
  const refused = await eventsOf(directory, ({ type }) => type === 'AuthenticationRefused')
  t.strictSame(
    refused.map(({ data }) => data['reason']),
    sessions.map(() => 'email_not_allowed'),
  )
})

await t.test('the route of the session also reports the reason of a refusal', async (t) => {
  const before = await everyWay(t)
  before.liar.lies = { claims: YESTERDAY.email_unmatched }
  const { token, authentication } = await logIn(before.service, OIDC)
  await before.service.close()
  const { directory } = before.service
  const { service } = await everyWay(t, matching, { directory })
  const answer = await service.request('GET', '/auth/v1/self/session', undefined, {
    ...open,
    cookie: `service_client_token=${token}`,
    'x-request-id': 'of-the-page',
  })
  t.match(answer, { status: 200, json: { authenticated: false } })
  t.match(cookiesOf(answer)['service_client_token'], { value: '' }, 'the cookie is cleared')
  const told = (await service.logged()).split('\n').filter((line) => line.includes('a session was refused'))
  t.equal(told.length, 1)
  t.match(JSON.parse(told[0] ?? '{}'), {
    requestId: 'of-the-page',
    tokenId: authentication.id,
    cause: 'email_unmatched',
  })
  await service.close()
  const refused = await eventsOf(directory, ({ type }) => type === 'AuthenticationRefused')
  t.match(
    refused.map(({ data }) => data['reason']),
    ['email_not_allowed'],
    'and the history does not say that the token is none',
  )
})

for (const [what, before, change] of [
  ['erased', erasePeople, undefined],
  ['lost', undefined, loseKeys],
  ['destroyed', undefined, destroyKeys],
] as const)
  await t.test(`a person with ${what} data is refused for that reason, not for a missing e-mail address`, async (t) => {
    const { service, liar } = await everyWay(t, matching)
    liar.lies = { claims: { email: 'canary@example.com', email_verified: true } }
    const { token } = await logIn(service, OIDC)
    await before?.(service)
    await service.reopen(async () => change?.(service))
    const answer = await service.request('GET', '/auth/v1/self', undefined, bearer(token))
    t.equal(refusalOf(answer).reason, 'email_not_allowed')
    t.match(await service.logged(), /"cause":"email_gone","why":"the stored data of this login is erased or lost/)
  })
