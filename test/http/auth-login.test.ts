import t, { type Test } from 'tap'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import type { Lies } from '../auth/stand-ins/liar.ts'
import { json, unusable } from '../auth/stand-ins/listen.ts'
import { onCluster } from '../cluster/own.ts'
import { type Headers, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import {
  bearer,
  begin,
  CODEHOST,
  codehostSettings,
  comeBack,
  cookiesOf,
  everyWay,
  logIn,
  OIDC,
  open,
  type Problem,
  PUBLIC,
  refusalOf,
  visit,
} from './people.ts'

type World = Awaited<ReturnType<typeof everyWay>>
/** Failure of a login: how the callback differs from a correct one. */
type Wrong = {
  readonly name: string
  readonly reason: string
  readonly status: number
  readonly code: number
  readonly message: string
  /** Reason shown to the browser instead. */
  readonly shown?: string
  readonly search?: (honest: URLSearchParams) => string
  readonly cookie?: (honest: string) => string
  readonly lies?: Lies
  readonly host?: (host: World['host']) => void
  readonly before?: (world: World, way: string) => Promise<unknown>
  /** False if the login can still be finished afterwards. */
  readonly usedUp?: false
  /** True if the service cannot read the cookie, so the return path is unknown. */
  readonly astray?: true
  /** Only for this method. */
  readonly only?: 'OIDC' | 'codehost'
}

const unavailable = {
  status: 503,
  code: 14,
  reason: 'provider_unavailable',
  message: 'service is temporarily unavailable',
} as const
const misfit = {
  status: 503,
  code: 14,
  reason: 'provider_mismatch',
  message: 'provider and configuration do not fit',
} as const
const handled = (reason: string, sentence: string, word = 'WORD') => ({
  status: 401,
  code: 16,
  reason,
  message: `handling ${word} callback: ${sentence}`,
})
const without = (query: URLSearchParams, ...names: string[]) => {
  const left = new URLSearchParams(query)
  for (const name of names) left.delete(name)
  return String(left)
}
const twice = (field: string): Wrong => ({
  name: `${field} twice`,
  status: 400,
  code: 3,
  reason: 'invalid_argument',
  message: `invalid field ${field}: given twice`,
  search: (query) => `${String(query)}&${field}=1&${field}=2`,
  usedUp: false,
})

const honestLies: Lies = { claims: { email: 'alice@example.com', email_verified: true, name: 'Alice' } }

/** Table of api.md §5.5, also valid for §5.6. */
const table: readonly Wrong[] = [
  ...['code', 'state', 'error', 'iss'].map(twice),
  {
    name: 'no state',
    ...handled('state_missing', 'missing state parameter'),
    search: (query) => without(query, 'state'),
    usedUp: false,
  },
  {
    name: 'an empty state',
    ...handled('state_missing', 'missing state parameter'),
    search: (query) => `${without(query, 'state')}&state=`,
    usedUp: false,
  },
  {
    name: 'no state cookie',
    ...handled('state_missing', 'missing state parameter'),
    cookie: () => '',
    usedUp: false,
    astray: true,
  },
  {
    name: 'another state',
    ...handled('state_mismatch', 'unexpected state parameter'),
    search: (query) => `${without(query, 'state')}&state=other`,
    usedUp: false,
  },
  {
    name: 'an unknown cookie',
    ...handled('state_mismatch', 'unexpected state parameter'),
    cookie: (cookie) => `${cookie}x`,
    usedUp: false,
    astray: true,
  },
  {
    name: 'two state cookies',
    ...handled('state_mismatch', 'unexpected state parameter'),
    cookie: (cookie) => `${cookie}; ${cookie.split('=', 1)[0]}=tossed`,
    usedUp: false,
    astray: true,
  },
  {
    name: 'another issuer',
    ...handled('issuer_mismatch', 'unexpected issuer'),
    search: (query) => `${String(query)}&iss=https%3A%2F%2Fevil.example`,
    only: 'OIDC',
  },
  {
    name: 'an error of the provider',
    ...handled('provider_error', 'provider refused the login'),
    search: (query) => `${without(query, 'code')}&error=access_denied`,
    shown: 'access_denied',
  },
  {
    name: 'an error that is no code',
    ...handled('provider_error', 'provider refused the login'),
    search: (query) => `${without(query, 'code')}&error=%3Cb%3E%0D%0ASet-Cookie%3A`,
    shown: 'provider_error',
  },
  {
    name: 'neither code nor error',
    status: 400,
    code: 3,
    reason: 'invalid_argument',
    message: 'invalid field code: must not be empty',
    search: (query) => without(query, 'code'),
  },
  {
    name: 'another code',
    ...handled('code_refused', 'code was refused'),
    search: (query) => `${without(query, 'code')}&code=wrong`,
  },
  {
    name: 'an ID token of another person',
    ...handled('id_token_invalid', 'ID token was refused'),
    lies: { claims: { aud: 'other' } },
    only: 'OIDC',
  },
  {
    name: 'an ID token of another login',
    ...handled('id_token_invalid', 'ID token was refused'),
    lies: { claims: { nonce: 'x' } },
    only: 'OIDC',
  },
  {
    name: 'an identity of which even what is needed is too large',
    ...handled('identity_too_large', 'the provider tells more of this person than is kept'),
    lies: { claims: { ...honestLies.claims, name: 'n'.repeat(50_000) } },
    only: 'OIDC',
  },
  {
    name: 'a user with too many claims',
    ...handled('identity_too_large', 'the provider tells more of this person than is kept'),
    host: (host) => (host.lies['/api/user'] = json(200, { id: 7, name: 'n'.repeat(50_000) })),
    only: 'codehost',
  },
  {
    name: 'an e-mail that is not on the list',
    status: 401,
    code: 16,
    reason: 'email_not_allowed',
    message: 'request was not authenticated',
    lies: { claims: { email: 'mallory@evil.example', email_verified: true } },
    only: 'OIDC',
  },
  {
    name: 'an e-mail that is not verified',
    status: 401,
    code: 16,
    reason: 'email_not_allowed',
    message: 'request was not authenticated',
    lies: { claims: { email: 'alice@example.com', email_verified: 'false' } },
    only: 'OIDC',
  },
  { name: 'a provider that answers HTML', ...unavailable, lies: { token: unusable['HTML']! }, only: 'OIDC' },
  { name: 'a provider that redirects', ...misfit, lies: { token: unusable['a redirect']! }, only: 'OIDC' },
  { name: 'a provider that fails', ...unavailable, lies: { token: unusable['500']! }, only: 'OIDC' },
  {
    name: 'a provider that does not know us',
    status: 503,
    code: 14,
    reason: 'oauth_client_refused',
    message: 'provider refused the client of this service',
    lies: { token: json(401, { error: 'invalid_client' }) },
    only: 'OIDC',
  },
  {
    name: 'a code host that fails',
    ...unavailable,
    host: (host) => (host.lies['/api/user'] = unusable['500']!),
    only: 'codehost',
  },
]

const allowed = { 'authentication.methods.oidc.email_matches': '[".*@example\\\\.com"]' }

const fails = async (t: Test, world: World, path: string, wrong: Wrong, form: 'JSON' | 'a page'): Promise<void> => {
  const { service, liar, host } = world
  liar.lies = honestLies
  host.lies = {}
  const { authorizeUrl, cookie } = await begin(service, path, '?return_to=%2Fflags%3Fq%3Da')
  const honest = await visit(authorizeUrl)
  liar.lies = wrong.lies ?? honestLies
  wrong.host?.(host)
  const search = wrong.search?.(honest) ?? String(honest)
  const headers: Headers = {
    cookie: wrong.cookie?.(cookie) ?? cookie,
    accept: form === 'JSON' ? 'application/json' : 'text/html,application/json;q=0.1',
    'x-request-id': 'id-of-the-test',
  }
  const answer = await comeBack<Problem>(service, path, search, headers)
  const what = `${wrong.name}, ${form}`
  if (form === 'JSON') {
    const { status, code, reason } = wrong
    const message = wrong.message.replace('WORD', path === CODEHOST ? 'codehost' : 'OIDC')
    t.strictSame(refusalOf(answer), { status, code, reason, message }, what)
    if (status === 401) t.equal(answer.headers['www-authenticate'], 'Bearer realm="rollcall"', what)
    if (wrong.reason === 'provider_error')
      t.equal(
        answer.json.details[0].value.metadata['error'],
        wrong.shown === 'access_denied' ? 'access_denied' : undefined,
      )
  } else {
    t.equal(answer.status, 302, what)
    const told = `/login?error=${wrong.shown ?? wrong.reason}&ref=id-of-the-test`
    t.equal(answer.headers.location, wrong.astray ? told : `${told}&return_to=%2Fflags%3Fq%3Da`, what)
    t.match(answer.headers['event-position'], /^\d+$/, what)
  }
  t.equal('retry-after' in answer.headers, wrong.reason === 'provider_unavailable', what)
  t.equal(answer.headers['cache-control'], 'no-store', what)
  const cookies = cookiesOf(answer)
  const [name = ''] = cookie.split('=')
  // A refusal of the account sets its own cookie.
  const told = wrong.reason === 'email_not_allowed' && form === 'a page' ? ['service_client_state'] : []
  t.strictSame(Object.keys(cookies), wrong.usedUp === false ? [] : [name, ...told], `${what}: no token`)
  if (wrong.usedUp !== false)
    t.match(cookies[name]!.line, /^[^=]*=; Max-Age=0; Path=\/auth\/v1\/method\/(oidc\/main|codehost);/, what)

  liar.lies = honestLies
  host.lies = {}
  const again = refusalOf(await comeBack(service, path, honest, { cookie, accept: 'application/json' }))
  if (wrong.usedUp === false) t.equal(again.status, 200, `${what}: does not use the login up`)
  else t.equal(again.reason, 'login_replayed', `${what}: uses the login up`)
}

// The stack decides only whether a login can be finished again, so one cause with each result runs on servers.
const ends = (wrong: Wrong) => `${wrong.reason} ${wrong.usedUp} ${wrong.only}`
const causes = onCluster ? [...new Map(table.map((wrong) => [ends(wrong), wrong])).values()] : table

await t.test('a failed login gets the documented error for each cause, as JSON and as a page', async (t) => {
  const world = await everyWay(t, allowed)
  for (const wrong of causes) {
    for (const path of [OIDC, CODEHOST]) {
      if (wrong.only && wrong.only !== (path === OIDC ? 'OIDC' : 'codehost')) continue
      for (const form of ['JSON', 'a page'] as const) await fails(t, world, path, wrong, form)
    }
  }
  t.notMatch(await world.service.logged(), /canary/, 'no secret in the log')
  t.match(
    await world.service.logged(),
    /"why":"token endpoint at 127[^"]*answered with status 500/,
    'the log states why a provider is unusable',
  )
})

await t.test('an expired login is refused before any other check', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, { 'authentication.session.state_lifetime': '10m' }, { clock })
  const [late, used, last] = [
    await begin(service, CODEHOST),
    await begin(service, CODEHOST),
    await begin(service, CODEHOST),
  ]
  const [lateQuery, usedQuery, lastQuery] = [
    await visit(late.authorizeUrl),
    await visit(used.authorizeUrl),
    await visit(last.authorizeUrl),
  ]
  t.equal((await comeBack(service, CODEHOST, usedQuery, { cookie: used.cookie })).status, 302)
  clock.jump(599_999)
  t.equal((await comeBack(service, CODEHOST, lastQuery, { cookie: last.cookie })).status, 302, 'in the last moment')
  clock.jump(1)
  for (const [{ cookie }, query] of [
    [late, lateQuery],
    [used, usedQuery],
  ] as const) {
    t.strictSame(refusalOf(await comeBack(service, CODEHOST, query, { cookie })), {
      status: 401,
      code: 16,
      reason: 'login_expired',
      message: 'handling codehost callback: login has expired',
    })
  }
})

await t.test('a login finishes once, although several callbacks arrive together', async (t) => {
  const { service } = await everyWay(t)
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const query = await visit(authorizeUrl)
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => comeBack(service, OIDC, query, { cookie, accept: 'application/json' })),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.equal(answers.filter((answer) => refusalOf(answer).reason === 'login_replayed').length, 7)
})

await t.test('a login that began at one provider cannot finish at another', async (t) => {
  const { service, liar } = await everyWay(t)
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const answer = await comeBack(service, CODEHOST, await visit(authorizeUrl), { cookie })
  t.equal(refusalOf(answer).reason, 'state_mismatch')
  t.notOk(liar.asked.includes('/token'), 'the code is sent nowhere')
})

await t.test('a person outside the allowed organizations is refused', async (t) => {
  const host = await codehostStandIn(t)
  const at = 'authentication.methods.codehost'
  const settings = { [`${at}.scopes`]: 'read:org', [`${at}.allowed_organizations`]: 'acme' }
  const service = await startService(t, { 'server.public_url': PUBLIC, ...codehostSettings(host.url), ...settings })
  const { answer } = await logIn(service, CODEHOST)
  t.strictSame(refusalOf(answer), {
    status: 401,
    code: 16,
    reason: 'membership_required',
    message: 'request was not authenticated',
  })
  host.organizations = [{ login: 'acme' }]
  t.equal((await logIn(service, CODEHOST)).answer.status, 200)
})

await t.test('a login uses the API of the configured kind of code host', async (t) => {
  const host = await codehostStandIn(t, 'gitlab')
  host.user = { id: 9, username: 'ada', name: 'Ada L.', email: 'ada@example.com' }
  const at = 'authentication.methods.codehost'
  const service = await startService(t, {
    'server.public_url': PUBLIC,
    ...codehostSettings(host.url),
    [`${at}.kind`]: 'gitlab',
    [`${at}.api_url`]: undefined,
    [`${at}.scopes`]: 'read_user,read_api',
    [`${at}.allowed_organizations`]: 'acme/platform',
  })
  host.organizations = [{ full_path: 'acme' }]
  t.equal(refusalOf((await logIn(service, CODEHOST)).answer).reason, 'membership_required')
  host.organizations = [{ full_path: 'acme' }, { full_path: 'acme/platform' }]
  const { authentication } = await logIn(service, CODEHOST)
  t.match(authentication.metadata, {
    'io.service.auth.codehost.preferred_username': 'ada',
    'io.service.auth.codehost.organizations': '["acme/platform"]',
    'io.service.auth.email': 'ada@example.com',
  })
})

await t.test('the present e-mail rule also applies to tokens of earlier logins', async (t) => {
  const { service, liar } = await everyWay(t)
  liar.lies = { claims: { email: 'alice@old.example', email_verified: true } }
  const { token } = await logIn(service, OIDC)
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 200)
  const { directory } = service
  await service.close()

  const strict = await everyWay(t, allowed, { directory })
  const viaCookie = await strict.service.request<Problem>('GET', '/auth/v1/self', undefined, {
    ...open,
    cookie: `service_client_token=${token}`,
  })
  t.equal(refusalOf(viaCookie).reason, 'email_not_allowed')
  t.equal(viaCookie.status, 401)
  t.match(cookiesOf(viaCookie)['service_client_token'], { value: '' }, 'the cookie is cleared')
  await strict.service.close()

  const lenient = await everyWay(t, { ...allowed, 'authentication.required': 'false' }, { directory })
  const asNobody = await lenient.service.request('GET', '/auth/v1/tokens', undefined, bearer(token))
  t.equal(asNobody.status, 200, 'where no credential is needed, one that is not usable is none')
})

await t.test('a login at an unknown or unreachable provider gets the documented error', async (t) => {
  const { service, liar } = await everyWay(t)
  for (const end of ['authorize', 'callback']) {
    const answer = await service.request<Problem>('GET', `/auth/v1/method/oidc/nobody/${end}`, undefined, {
      ...open,
      accept: end === 'authorize' ? 'text/html' : 'application/json',
    })
    t.strictSame(refusalOf(answer), {
      status: 404,
      code: 5,
      reason: 'not_found',
      message: 'requested provider "nobody": provider not found',
    })
  }
  liar.lies = { document: unusable['500']! }
  const answer = await service.request<Problem>('GET', `${OIDC}/authorize`, undefined, { ...open, accept: 'text/html' })
  t.strictSame(refusalOf(answer), unavailable, 'authorize always answers JSON')
  t.match(answer.headers['retry-after'], /^\d+$/)
  t.notOk(answer.headers['set-cookie'])
  liar.lies = {}
  t.equal((await begin(service, OIDC)).answer.status, 200, 'and it is tried again')
})

await t.test('a login uses userinfo and authorization parameters as configured', async (t) => {
  const at = 'authentication.methods'
  const { service, liar } = await everyWay(t, {
    ...allowed,
    [`${at}.oidc.providers.main.claims`]: 'userinfo',
    [`${at}.oidc.providers.main.authorize_parameters`]: '{"hd":"example.com","prompt":"consent"}',
    [`${at}.codehost.authorize_parameters`]: '{"allow_signup":"false"}',
  })
  const parameters = async (path: string, search: string) =>
    Object.fromEntries((await begin(service, path, search)).authorizeUrl.searchParams)
  t.match(await parameters(OIDC, ''), { hd: 'example.com', prompt: 'consent' })
  t.match(await parameters(OIDC, '?prompt=login'), { hd: 'example.com', prompt: 'login' })
  t.match(await parameters(CODEHOST, '?prompt=login'), { allow_signup: 'false', prompt: 'select_account' })

  liar.lies = { userinfo: { email: 'ada@example.com', email_verified: true, name: 'Ada' } }
  const { answer, authentication } = await logIn(service, OIDC)
  t.equal(answer.status, 200)
  t.match(authentication.metadata, { 'io.service.auth.name': 'Ada', 'io.service.auth.oidc.email_verified': 'true' })

  liar.lies = { userinfo: { sub: 'mallory', email: 'ada@example.com', email_verified: true } }
  t.strictSame(
    refusalOf((await logIn(service, OIDC)).answer),
    handled('userinfo_invalid', 'userinfo was refused', 'OIDC'),
  )
  t.match(
    await service.logged(),
    /"why":"the userinfo answer is invalid: it is about another person than the ID token \(sub\)"/,
  )
  // The ID token cannot verify the email of userinfo.
  liar.lies = {
    claims: { email: 'ada@example.com', email_verified: true },
    userinfo: { email: 'mallory@example.com', email_verified: false },
  }
  t.equal(refusalOf((await logIn(service, OIDC)).answer).reason, 'email_not_allowed')
})
