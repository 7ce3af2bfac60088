import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { begin, comeBack, type Issued, OIDC, oidcSettings, PUBLIC, refusalOf, type Settings } from '../http/people.ts'
import type { Authorization } from '../http/ruled.ts'
import { type Response, type Started, startService } from '../start.ts'
import { type Hydra, type Jar, realHydra, type Said, skip } from './hydra.ts'
import { versionOf } from './programs.ts'

type Tree = Readonly<Record<string, unknown>>
type World = {
  /** Parts of the client that differ from the guide. */
  readonly client?: Tree
  readonly at?: Hydra
  readonly settings?: Settings
  readonly authorization?: Authorization
}
const AT = 'authentication.methods.oidc.providers.main'
const SECRET = 'canary-hydra-client-secret'
const ADA = { email: 'ada@example.com', email_verified: true, name: 'Ada Example', groups: ['platform'] }

await t.test('a login at a real Hydra server', { skip }, async (t) => {
  const hydra = await realHydra(t)
  t.comment(`Hydra ${versionOf('hydra')}`)
  let clients = 0

  /** Log line of the last refused login. */
  const refusalIn = async (service: Started) => {
    const lines = (await service.logged()).split('\n').filter((line) => line.includes('a login was refused'))
    return JSON.parse(lines.at(-1)!) as Tree
  }
  /** Creates a client like the guide, and a service that uses it. */
  const world = async (t: Test, { client = {}, at = hydra, settings, authorization }: World = {}) => {
    const clientId = `rollcall-${clients++}`
    await at.admin('POST', '/clients', {
      client_id: clientId,
      client_secret: SECRET,
      grant_types: ['authorization_code'],
      response_types: ['code'],
      scope: 'openid email profile',
      redirect_uris: [`${PUBLIC}${OIDC}/callback`],
      token_endpoint_auth_method: 'client_secret_basic',
      ...client,
    })
    const service = await startService(
      t,
      {
        'server.public_url': PUBLIC,
        ...oidcSettings('main', at.url, { clientId, clientSecret: SECRET }),
        ...settings,
      },
      authorization && { file: { authorization } },
    )
    const logIn = async (login: Said = {}, consent: Said = { session: ADA }, jar?: Jar): Promise<Response<Issued>> => {
      const { authorizeUrl, cookie } = await begin(service, OIDC)
      const query = await at.signIn(authorizeUrl, login, consent, jar)
      return comeBack(service, OIDC, query, { cookie, accept: 'application/json' })
    }
    return { clientId, service, logIn, refusal: () => refusalIn(service) }
  }

  await t.test(
    'with the commands and rules in the guide people are admitted by claims of the consent app',
    async (t) => {
      const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/oidc.md'), 'utf8')
      const [, section = ''] = /^### Hydra\n(.*?)^### /ms.exec(guide)!
      const block = (kind: string) => new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'ms').exec(section)![1]!
      const made = await hydra.shell(block('sh').replace('http://127.0.0.1:4445', hydra.adminUrl))
      const [, clientId = ''] = /CLIENT ID\s+(\S+)/.exec(made)!
      const [, clientSecret = ''] = /CLIENT SECRET\s+(\S+)/.exec(made)!
      const { session } = JSON.parse(block('json')) as { session: { id_token: Tree } }
      const file = parse(block('yaml')) as { authentication: { methods: { oidc: { providers: { hydra: object } } } } }
      Object.assign(file.authentication.methods.oidc.providers.hydra, { issuer_url: hydra.url })
      const at = 'authentication.methods.oidc.providers.hydra'
      const settings = { [`${at}.client_id`]: clientId, [`${at}.client_secret`]: clientSecret }
      const service = await startService(t, settings, { file })
      const path = '/auth/v1/method/oidc/hydra'
      const as = async (told: Tree) => {
        const { authorizeUrl, cookie } = await begin(service, path)
        const query = await hydra.signIn(authorizeUrl, {}, { session: told })
        return comeBack(service, path, query, { cookie, accept: 'application/json' })
      }
      const admitted = await as(session.id_token)
      t.equal(admitted.status, 200)
      t.match(admitted.json.authentication.metadata, {
        'io.service.auth.oidc.email': session.id_token['email'],
        'io.service.auth.oidc.name': session.id_token['name'],
        'io.service.auth.oidc.sub': 'ada',
      })
      t.match(refusalOf(await as({ ...session.id_token, groups: ['others'] })), { status: 403, reason: 'no_grant' })
      t.match(refusalOf(await as({})), { status: 403, reason: 'no_grant' })
      t.match(await refusalIn(service), { why: /groups/ }, 'the log names the claim that was absent')
    },
  )

  await t.test('each login uses PKCE, and Hydra refuses a code without its verifier', async (t) => {
    const { service, logIn } = await world(t)
    t.equal((await logIn()).status, 200)
    const { authorizeUrl } = await begin(service, OIDC)
    t.equal(authorizeUrl.searchParams.get('code_challenge_method'), 'S256')
    authorizeUrl.searchParams.delete('code_challenge')
    authorizeUrl.searchParams.delete('code_challenge_method')
    t.equal((await hydra.signIn(authorizeUrl, {})).get('error'), 'invalid_request')
  })

  await t.test('a code with the verifier of another login is refused', async (t) => {
    const { service, refusal } = await world(t)
    const [one, other] = [await begin(service, OIDC), await begin(service, OIDC)]
    const query = await hydra.signIn(one.authorizeUrl, {})
    query.set('state', other.authorizeUrl.searchParams.get('state')!)
    const answer = await comeBack(service, OIDC, query, { cookie: other.cookie, accept: 'application/json' })
    t.match(refusalOf(answer), { status: 401, reason: 'code_refused' })
    t.match(await refusal(), {
      cause: 'code_refused',
      providerError: 'invalid_grant',
      providerSays: /^The provided authorization grant/,
    })
  })

  await t.test('a wrong client is reported with the error code of Hydra', async (t) => {
    const refused = {
      reason: 'oauth_client_refused',
      cause: 'client_refused',
      providerError: 'invalid_client',
      why: `token endpoint at ${new URL(hydra.url).host} refused our client`,
      change: /client_id, client_secret and client_authentication/,
    }
    const secret = await world(t, { settings: { [`${AT}.client_secret`]: 'another' } })
    t.match(refusalOf(await secret.logIn()), { status: 503, reason: 'oauth_client_refused' })
    t.match(await secret.refusal(), { ...refused, providerSays: /^Client authentication failed/ }, 'a wrong secret')
    t.notMatch(await secret.service.logged(), SECRET)

    for (const client of [
      { token_endpoint_auth_method: 'client_secret_post' },
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } },
      { token_endpoint_auth_method: 'none', client_secret: '' },
    ]) {
      const { logIn, refusal } = await world(t, { client, settings: { [`${AT}.client_authentication`]: 'basic' } })
      t.not((await logIn()).status, 200)
      t.match(await refusal(), refused, client.token_endpoint_auth_method)
    }
    for (const [way, client] of [
      ['post', { token_endpoint_auth_method: 'client_secret_post' }],
      ['none', { token_endpoint_auth_method: 'none', client_secret: '' }],
    ] as const) {
      const settings = {
        [`${AT}.client_authentication`]: way,
        ...(way === 'none' && { [`${AT}.client_secret`]: undefined }),
      }
      const { logIn } = await world(t, { client, settings })
      t.equal((await logIn()).status, 200, `client_authentication: ${way}`)
    }
  })

  await t.test('a scope that Hydra refuses is reported', async (t) => {
    const { logIn, refusal } = await world(t, { client: { scope: 'openid email' } })
    t.equal(refusalOf(await logIn()).status, 401)
    t.match(await refusal(), { cause: 'provider_settings', providerError: 'invalid_scope', change: /scopes/ })
  })

  await t.test('a login uses new signing keys of the provider at once', async (t) => {
    const { logIn } = await world(t)
    const set = '/keys/hydra.openid.id-token'
    const kids = async () =>
      (await hydra.admin<{ readonly keys: readonly { readonly kid: string }[] }>('GET', set)).keys.map(({ kid }) => kid)
    t.equal((await logIn()).status, 200)
    const before = await kids()
    await hydra.admin('POST', set, { alg: 'RS256', use: 'sig', kid: 'the-next' })
    t.equal((await logIn()).status, 200, 'a new key beside the old ones')
    for (const kid of before) await hydra.admin('DELETE', `${set}/${kid}`)
    t.strictSame(await kids(), ['the-next'])
    t.equal((await logIn()).status, 200, 'the old ones are gone')
  })

  await t.test('a refusal on the login or consent page is reported', async (t) => {
    const { service, logIn, refusal } = await world(t)
    const no = { error: 'access_denied', error_description: 'The resource owner said no.' }
    for (const [what, login, consent] of [
      ['the login', { no }, {}],
      ['the consent', {}, { no }],
    ] as const) {
      t.match(refusalOf(await logIn(login, consent)), { status: 401, reason: 'provider_error' }, what)
      t.match(await refusal(), { cause: 'provider_denied', providerError: 'access_denied' }, what)
    }
    const { authorizeUrl, cookie } = await begin(service, OIDC)
    const query = await hydra.signIn(authorizeUrl, {}, { no })
    const { status, headers } = await comeBack(service, OIDC, query, { cookie, accept: 'text/html' })
    t.equal(status, 302)
    t.match(headers.location, /^\/login\?error=access_denied&ref=/)
  })

  await t.test('an e-mail address counts if the consent app verifies it or the setting assumes it', async (t) => {
    const email_matches = { 'authentication.methods.oidc.email_matches': '.*@example\\.com' }
    const { email_verified: _, ...silent } = ADA
    const strict = await world(t, { settings: email_matches })
    const causeOf = async (session: Tree) => {
      const { reason } = refusalOf(await strict.logIn({}, { session }))
      return reason === undefined ? 'admitted' : (await strict.refusal())['cause']
    }
    t.strictSame(
      [
        await causeOf(ADA),
        await causeOf(silent),
        await causeOf({ ...ADA, email_verified: false }),
        await causeOf({}),
        await causeOf({ ...ADA, email: 'ada@example.org' }),
      ],
      ['admitted', 'email_unsaid', 'email_unverified', 'email_absent', 'email_unmatched'],
    )
    const assumed = await world(t, { settings: { ...email_matches, [`${AT}.assume_email_verified`]: 'true' } })
    t.equal((await assumed.logIn({}, { session: silent })).status, 200)
  })

  await t.test('the same claims are accepted from userinfo', async (t) => {
    const { logIn } = await world(t, {
      settings: { [`${AT}.claims`]: 'userinfo' },
      authorization: {
        rules: [
          {
            name: 'all',
            method: 'oidc',
            provider: 'main',
            claim: 'groups',
            any_of: ['platform'],
            grants: ['viewer@*'],
          },
        ],
        unmatched: 'refuse',
      },
    })
    t.equal((await logIn()).status, 200)
    t.equal((await logIn({}, { session: {} })).status, 403)
  })

  await t.test('Hydra asks a remembered person again after signing out', async (t) => {
    const { service, logIn } = await world(t)
    const jar: Jar = new Map()
    t.equal((await logIn({ remember: true }, { session: ADA }, jar)).status, 200)
    const asked = async (search: string) => {
      const { authorizeUrl } = await begin(service, OIDC, search)
      return hydra.asked(await hydra.follow(authorizeUrl, new Map(jar)))
    }
    t.match(await asked(''), { skip: true, subject: 'ada' })
    t.match(await asked('?prompt=login'), { skip: false })
  })

  await t.test('Hydra does not redirect for a wrong redirect address or an unknown client', async (t) => {
    const { service } = await world(t)
    for (const [name, value] of [
      ['redirect_uri', `${PUBLIC}/elsewhere`],
      ['client_id', 'nobody'],
    ] as const) {
      const { authorizeUrl } = await begin(service, OIDC)
      authorizeUrl.searchParams.set(name, value)
      t.equal((await hydra.follow(authorizeUrl, new Map())).origin, hydra.url, name)
    }
  })

  await t.test('a consent without openid, which gives no ID token, is reported', async (t) => {
    const { logIn, refusal } = await world(t)
    t.equal(refusalOf(await logIn({}, { scopes: ['email'] })).status, 503)
    t.match(await refusal(), { cause: 'answer_unusable', why: /answer without an ID token/ })
  })

  await t.test('an issuer address without a path matches with and without a slash at its end', async (t) => {
    for (const at of [hydra, await realHydra(t, '/')])
      for (const named of [at.url, `${at.url}/`]) {
        const { logIn } = await world(t, { at, settings: { [`${AT}.issuer_url`]: named } })
        t.equal((await logIn()).status, 200, `${at.issuer} as ${named}`)
      }
  })
})
