import t from 'tap'
import { virtualClock } from '../virtual-clock.ts'
import { begin, CODEHOST, comeBack, cookiesOf, everyWay, OIDC, refusalOf, visit } from './people.ts'
import { advanceLimits } from './rate-minutes.ts'

const page = { accept: 'text/html' }

/** Starts logins one after another in one browser; returns the callbacks and the final cookies. */
const begun = async (service: Parameters<typeof begin>[0], path: string, count: number) => {
  const jar = new Map<string, string>()
  const logins: { readonly query: URLSearchParams; readonly name: string }[] = []
  for (let n = 0; n < count; n++) {
    const { authorizeUrl, answer } = await begin(service, path, '', { cookie: asHeader(jar) })
    for (const [name, { value }] of Object.entries(cookiesOf(answer)))
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    logins.push({ query: await visit(authorizeUrl), name: [...jar.keys()].at(-1)! })
  }
  return { jar, logins }
}
const asHeader = (jar: ReadonlyMap<string, string>): string => [...jar].map((pair) => pair.join('=')).join('; ')

for (const path of [OIDC, CODEHOST])
  await t.test(`several logins of one browser at ${path} finish in any order`, async (t) => {
    const { service } = await everyWay(t)
    const { jar, logins } = await begun(service, path, 3)
    for (const { query, name } of [logins[1]!, logins[2]!, logins[0]!]) {
      const answer = await comeBack(service, path, query, { cookie: asHeader(jar) })
      t.equal(answer.status, 302)
      t.equal(answer.headers.location, '/')
      t.strictSame(
        Object.keys(cookiesOf(answer)).toSorted(),
        [name, 'service_client_token'].toSorted(),
        'the cookie of this login goes, and no other',
      )
      jar.delete(name)
    }
  })

await t.test('a web page cannot use up a login by opening its callback', async (t) => {
  const { service } = await everyWay(t)
  const { jar, logins } = await begun(service, OIDC, 1)
  const cookie = asHeader(jar)
  const { query } = logins[0]!
  for (const wrong of [
    '',
    'state=x',
    'state=x&code=y',
    `${String(query)}&state=x`,
    `${String(query)}&code=x`,
    'error=access_denied',
  ]) {
    const answer = await comeBack(service, OIDC, wrong, { cookie, ...page })
    t.strictSame(cookiesOf(answer), {}, wrong)
  }
  t.equal((await comeBack(service, OIDC, query, { cookie })).status, 302)
})

await t.test('a browser can have four unfinished logins for each provider, and the oldest is dropped', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, {}, { clock })
  const { jar, logins } = await begun(service, OIDC, 6)
  t.equal(jar.size, 4)
  t.strictSame(
    logins.map(({ name }) => jar.has(name)),
    [false, false, true, true, true, true],
  )
  const full = new Map([...jar].map(([name, value], n) => [name, n === 0 ? 'nothing that opens' : value]))
  const { answer } = await begin(service, OIDC, '', { cookie: asHeader(full) })
  const gone = Object.entries(cookiesOf(answer)).filter(([, { value }]) => value === '')
  t.strictSame(
    gone.map(([name]) => name),
    [[...full.keys()][0]],
    'what cannot be read counts as the oldest',
  )
  const other = await begin(service, CODEHOST, '', { cookie: asHeader(jar) })
  t.equal(Object.keys(cookiesOf(other.answer)).length > 0, true)
})

await t.test('callbacks are limited by login, and those without a login by address', async (t) => {
  const limits = { 'rate_limit.enabled': 'true', 'rate_limit.logins': '50', 'session.state_lifetime': '10m' }
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, limits, { clock })
  const people = []
  for (let n = 0; n < 50; n++) people.push(await begun(service, OIDC, 1))
  const late = await service.request('GET', `${OIDC}/authorize`, undefined, { authorization: '' })
  t.equal(refusalOf(late).reason, 'rate_limited', 'the fifty-first may not begin')
  const answers = await Promise.all(
    people.map(({ jar, logins }) => comeBack(service, OIDC, logins[0]!.query, { cookie: asHeader(jar) })),
  )
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([302]), 'every started login succeeds')
  const { jar, logins } = people[0]!
  const again = async () => refusalOf(await comeBack(service, OIDC, logins[0]!.query, { cookie: asHeader(jar) })).reason
  t.strictSame(
    [await again(), await again(), await again(), await again(), await again()],
    ['login_replayed', 'login_replayed', 'login_replayed', 'login_replayed', 'rate_limited'],
    'five times a minute at most',
  )
  const astray = await comeBack(service, OIDC, 'state=x&code=y', { cookie: asHeader(jar) })
  t.equal(refusalOf(astray).reason, 'rate_limited', 'what belongs to no login counts by address')
  clock.jump(540_000)
  await advanceLimits(clock, 60_000)
  for (let n = 0; n < 50; n++) await begin(service, OIDC)
  t.equal(await again(), 'rate_limited', 'so does a login that is over')
})

await t.test('an expired login is reported, and a prefetch by the browser does not use up a login', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, { 'authentication.session.state_lifetime': '10m' }, { clock })
  const { answer, cookie, authorizeUrl } = await begin(service, OIDC)
  t.match(
    Object.values(cookiesOf(answer))[0]!.attributes,
    /^Max-Age=4200; /,
    'the cookie outlives the login by an hour',
  )
  const query = await visit(authorizeUrl)
  for (const headers of [{ 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }]) {
    const ahead = await comeBack(service, OIDC, query, { cookie, ...page, ...headers })
    t.match(refusalOf(ahead), { status: 400, reason: 'invalid_header' })
    t.strictSame(cookiesOf(ahead), {})
  }
  t.equal((await comeBack(service, OIDC, query, { cookie })).status, 302)
  const late = await begin(service, OIDC)
  const lateQuery = await visit(late.authorizeUrl)
  clock.jump(540_000)
  await advanceLimits(clock, 60_000)
  const told = await comeBack(service, OIDC, lateQuery, { cookie: late.cookie, ...page })
  t.match(told.headers.location, /^\/login\?error=login_expired&/)
})

await t.test('prompt=login makes the provider ask for the password again', async (t) => {
  const { service } = await everyWay(t)
  const asked = async (path: string, search: string) =>
    (await begin(service, path, search)).authorizeUrl.searchParams.get('prompt')
  t.equal(await asked(OIDC, '?prompt=login'), 'login')
  t.equal(await asked(CODEHOST, '?prompt=login'), 'select_account')
  for (const path of [OIDC, CODEHOST]) for (const none of ['', '?prompt=']) t.equal(await asked(path, none), null)
  for (const wrong of ['none', 'consent', 'login%20consent'])
    t.match(
      refusalOf(await service.request('GET', `${OIDC}/authorize?prompt=${wrong}`, undefined, { authorization: '' })),
      { status: 400, message: 'invalid field prompt: must be login' },
    )
})
