import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { deadUrl } from '../auth/stand-ins/listen.ts'
import { bearer, begin, comeBack, cookiesOf, OIDC, oidcSettings, refusalOf, type Settings } from '../http/people.ts'
import type { Authorization } from '../http/ruled.ts'
import { startService } from '../start.ts'
import { skip as noBrowser, openBrowser } from '../ui/browser.ts'
import { eventually } from '../wait.ts'
import {
  ADMIN,
  addressMapper,
  CLIENT,
  clientAt,
  everyKey,
  groupsMapper,
  person,
  realKeycloak,
  rolesMapper,
  skip,
} from './keycloak.ts'
import { fillIn, signInAt } from './people.ts'
import { versionOf } from './programs.ts'

type Tree = Readonly<Record<string, unknown>>
type World = {
  /** Parts of the client that differ from the guide. */
  readonly client?: Tree
  readonly realm?: Tree
  readonly users?: readonly Tree[]
  readonly settings?: Settings
  readonly authorization?: Authorization
}
const AT = 'authentication.methods.oidc.providers.main'

await t.test('a login at a real Keycloak server', { skip }, async (t) => {
  const keycloak = await realKeycloak(t)
  t.comment(`Keycloak ${versionOf('keycloak')}`)
  let realms = 0

  /** Creates a realm with a client like the guide, and a service that browsers reach. */
  const world = async (t: Test, { client = {}, realm = {}, users, settings, authorization }: World = {}) => {
    const url = await deadUrl()
    const name = `company-${realms++}`
    const people = users ?? [person('ada'), person('bob')]
    const issuer = await keycloak.realm(name, { ...realm, clients: [clientAt(url, 'main', client)], users: people })
    const service = await startService(
      t,
      {
        'server.http_port': new URL(url).port,
        'server.public_url': url,
        ...oidcSettings('main', issuer, CLIENT),
        ...settings,
      },
      authorization && { file: { authorization } },
    )
    const logIn = async (username: string) => {
      const { authorizeUrl, cookie } = await begin(service, OIDC)
      const query = await signInAt(authorizeUrl, username)
      const answer = await comeBack(service, OIDC, query, { cookie, accept: 'application/json' })
      return { answer, token: cookiesOf(answer)['service_client_token']?.value ?? '' }
    }
    /** Log line of the last refused login. */
    const refusal = async () => {
      const lines = (await service.logged()).split('\n').filter((line) => line.includes('a login was refused'))
      return JSON.parse(lines.at(-1)!) as Tree
    }
    /** Changes parts of the client at Keycloak. */
    const change = async (more: Tree) => {
      const [{ id }] = await keycloak.admin<readonly [{ readonly id: string }]>(
        'GET',
        `/${name}/clients?clientId=rollcall`,
      )
      await keycloak.admin('PUT', `/${name}/clients/${id}`, { ...clientAt(url, 'main', client), id, ...more })
    }
    return { url, name, issuer, service, logIn, refusal, change }
  }

  /** Creates a realm by the guide: `client` and `file` are its examples for an address. */
  const guided = async (t: Test, name: string, more: (client: Tree) => Tree) => {
    const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/oidc.md'), 'utf8')
    const [, section = ''] = /^### Keycloak\n(.*?)^### /ms.exec(guide)!
    const block = (kind: string) => new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'ms').exec(section)![1]!
    const url = await deadUrl()
    const client = JSON.parse(block('json').replaceAll('https://flags.example.com', url)) as Tree
    const file = parse(block('yaml')) as { authentication: { methods: { oidc: { providers: { keycloak: object } } } } }
    const issuer = await keycloak.realm(name, {
      groups: [{ name: 'platform' }],
      roles: { realm: [{ name: 'release' }] },
      users: [person('ada', { groups: ['/platform'] }), person('bob', { realmRoles: ['release'] }), person('eve')],
      ...more(client),
    })
    Object.assign(file.authentication.methods.oidc.providers.keycloak, { issuer_url: issuer })
    /** Returns the status codes of logins. */
    const statuses = async (secret: string) => {
      const settings = {
        'server.http_port': new URL(url).port,
        'server.public_url': url,
        'authentication.methods.oidc.providers.keycloak.client_secret': secret,
      }
      const service = await startService(t, settings, { file })
      const path = '/auth/v1/method/oidc/keycloak'
      const found: Record<string, number> = {}
      for (const username of ['ada', 'bob', 'eve']) {
        const { authorizeUrl, cookie } = await begin(service, path)
        const query = await signInAt(authorizeUrl, username)
        found[username] = (await comeBack(service, path, query, { cookie, accept: 'application/json' })).status
      }
      return found
    }
    return { client, statuses }
  }
  const ADMITTED = { ada: 200, bob: 200, eve: 403 }

  await t.test('with the client and rules in the guide people are admitted by group and role', async (t) => {
    const { statuses } = await guided(t, 'guided', (client) => ({
      clients: [{ ...client, secret: CLIENT.clientSecret }],
    }))
    t.strictSame(await statuses(CLIENT.clientSecret), ADMITTED)
  })

  await t.test('50 concurrent logins from one address succeed under the default limits', async (t) => {
    const { logIn } = await world(t)
    const answers = await Promise.all(Array.from({ length: 50 }, () => logIn('ada')))
    t.strictSame([...new Set(answers.map(({ answer }) => answer.status))], [200])
    t.equal(new Set(answers.map(({ token }) => token)).size, 50)
  })

  await t.test('exactly the asymmetric signature algorithms are accepted', async (t) => {
    const { logIn, change, refusal } = await world(t, {
      realm: { components: { 'org.keycloak.keys.KeyProvider': everyKey } },
      settings: { 'rate_limit.enabled': 'false' },
    })
    const by = (algorithm: string) => change({ attributes: { 'id.token.signed.response.alg': algorithm } })
    for (const algorithm of 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA'.split(' ')) {
      await by(algorithm)
      t.equal((await logIn('ada')).answer.status, 200, algorithm)
    }
    for (const algorithm of ['HS256', 'HS384', 'HS512']) {
      await by(algorithm)
      t.equal(refusalOf((await logIn('ada')).answer).reason, 'id_token_invalid', algorithm)
      t.match(await refusal(), { why: /signed with a secret/ }, `${algorithm}: the log says why`)
    }
  })

  await t.test('a login uses a new signing key of the Keycloak realm at once', async (t) => {
    const { logIn, name } = await world(t)
    t.equal((await logIn('ada')).answer.status, 200)
    const { id: parentId } = await keycloak.admin<{ readonly id: string }>('GET', `/${name}`)
    await keycloak.admin('POST', `/${name}/components`, {
      name: 'newer',
      providerId: 'rsa-generated',
      providerType: 'org.keycloak.keys.KeyProvider',
      parentId,
      config: { priority: ['1000'], algorithm: ['RS256'] },
    })
    t.equal((await logIn('ada')).answer.status, 200)
  })

  await t.test('an administrator of Keycloak signs a person out, which ends all sessions here', async (t) => {
    const { logIn, change, url, name, service } = await world(t)
    await change({
      attributes: {
        'pkce.code.challenge.method': 'S256',
        'backchannel.logout.url': `${url}${OIDC}/backchannel-logout`,
        'backchannel.logout.session.required': 'true',
      },
    })
    const sessions = [await logIn('ada'), await logIn('ada'), await logIn('ada'), await logIn('bob')]
    const statuses = async () =>
      Promise.all(
        sessions.map(
          async ({ token }) => (await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status,
        ),
      )
    t.strictSame(await statuses(), [200, 200, 200, 200])
    const [{ id }] = await keycloak.admin<readonly [{ readonly id: string }]>('GET', `/${name}/users?username=ada`)
    await keycloak.admin('POST', `/${name}/users/${id}/logout`)
    await eventually(async () => (await statuses()).join() === '401,401,401,200', 'the ends of three sessions')
    const { json } = await service.request<{ readonly events: readonly { readonly data: Tree }[] }>(
      'GET',
      '/audit/v1/events?type=ProviderLogoutCompleted',
    )
    t.strictSame(
      json.events.map(({ data }) => data['sessions']),
      [3],
      'one logout token',
    )
  })

  const inGroups = [
    person('ada', { groups: ['/eu/berlin/devs'], realmRoles: ['release'] }),
    person('bob', { groups: ['/us/devs'] }),
    person('eve'),
  ]
  const groups = [
    { name: 'eu', subGroups: [{ name: 'berlin', subGroups: [{ name: 'devs' }] }] },
    { name: 'us', subGroups: [{ name: 'devs' }] },
  ]
  const organised = { groups, roles: { realm: [{ name: 'release' }] } }
  const rule = (name: string, claim: string, any_of: string, grant: string) => ({
    name,
    method: 'oidc',
    provider: 'main',
    claim,
    any_of: [any_of],
    grants: [grant],
  })

  await t.test('groups and roles of the realm give the rights in the rules', async (t) => {
    const { logIn, service, refusal } = await world(t, {
      realm: organised,
      users: inGroups,
      authorization: {
        rules: [
          rule('devs', 'groups', '/eu/berlin/devs', 'viewer@*'),
          rule('releasers', '/realm_access/roles', 'release', 'editor@default'),
          rule('americans', 'groups', '/us/devs', 'viewer@*'),
        ],
        unmatched: 'refuse',
      },
    })
    const mayWrite = async (username: string) => {
      const { token } = await logIn(username)
      const flag = { key: username, name: username, type: 'BOOLEAN_FLAG_TYPE' }
      return (await service.request('POST', '/api/v1/flags', flag, bearer(token))).status
    }
    t.equal(await mayWrite('ada'), 200, 'by a role')
    t.equal(await mayWrite('bob'), 403, 'a group that only looks')
    t.match(refusalOf((await logIn('eve')).answer), { status: 403, reason: 'no_grant' })
    t.match(await refusal(), { reason: 'no_grant', provider: 'main' })
  })

  await t.test('without full paths, Keycloak sends groups with the same name as one', async (t) => {
    const { logIn } = await world(t, {
      realm: organised,
      users: inGroups,
      client: { protocolMappers: [groupsMapper(false)] },
      authorization: { rules: [rule('devs', 'groups', 'devs', 'viewer@*')], unmatched: 'refuse' },
    })
    const statuses = []
    for (const username of ['ada', 'bob', 'eve']) statuses.push((await logIn(username)).answer.status)
    t.strictSame(statuses, [200, 200, 403])
  })

  await t.test('claims that are only in userinfo are read if configured', async (t) => {
    const there = (on: boolean) =>
      [groupsMapper(), rolesMapper].map((mapper) => ({
        ...mapper,
        config: { ...mapper.config, 'id.token.claim': String(on) },
      }))
    const authorization = {
      rules: [rule('devs', 'groups', '/eu/berlin/devs', 'viewer@*')],
      unmatched: 'refuse',
    } as const
    const same = { realm: organised, users: inGroups, client: { protocolMappers: there(false) }, authorization }
    t.equal(refusalOf((await (await world(t, same)).logIn('ada')).answer).reason, 'no_grant')
    const reading = await world(t, { ...same, settings: { [`${AT}.claims`]: 'userinfo' } })
    t.equal((await reading.logIn('ada')).answer.status, 200)
  })

  await t.test('an e-mail address counts if Keycloak verifies it or the setting assumes it', async (t) => {
    const settings = { 'authentication.methods.oidc.email_matches': '.*@example\\.com' }
    const users = [person('ada'), person('bob', { emailVerified: false }), person('eve', { email: undefined })]
    const told = await world(t, { users, settings })
    const statuses = []
    for (const username of ['ada', 'bob', 'eve']) statuses.push((await told.logIn(username)).answer.status)
    t.strictSame(statuses, [200, 401, 401])

    const silent = {
      users,
      client: {
        defaultClientScopes: ['basic'],
        optionalClientScopes: ['email', 'profile'],
        protocolMappers: [addressMapper],
      },
    }
    const plain = { ...settings, [`${AT}.scopes`]: undefined }
    const strict = await world(t, { ...silent, settings: plain })
    t.equal(refusalOf((await strict.logIn('ada')).answer).reason, 'email_not_allowed', 'nothing is said of it')
    const assumed = await world(t, { ...silent, settings: { ...plain, [`${AT}.assume_email_verified`]: 'true' } })
    t.equal((await assumed.logIn('ada')).answer.status, 200)
  })

  await t.test('a wrong client is reported with the error code of Keycloak', async (t) => {
    const wrong = await world(t, { settings: { [`${AT}.client_secret`]: 'another' } })
    t.not((await wrong.logIn('ada')).answer.status, 200)
    t.match(await wrong.refusal(), { reason: 'oauth_client_refused', providerError: 'unauthorized_client' })

    const byKey = await world(t, { client: { clientAuthenticatorType: 'client-jwt' } })
    t.not((await byKey.logIn('ada')).answer.status, 200)
    t.match(await byKey.refusal(), { reason: 'oauth_client_refused', providerError: /_client$/ })

    const pushed = await world(t, { client: { attributes: { 'require.pushed.authorization.requests': 'true' } } })
    const { authorizeUrl, cookie } = await begin(pushed.service, OIDC)
    const location = (await fetch(authorizeUrl, { redirect: 'manual' })).headers.get('location')!
    await comeBack(pushed.service, OIDC, new URL(location).searchParams, { cookie, accept: 'application/json' })
    t.match(await pushed.refusal(), { providerError: 'invalid_request', why: /pushed authorization/ })
  })

  await t.test('logins at Keycloak in Chromium', { skip: noBrowser }, async (t) => {
    const account = (name: string) => ({ name: `Account: ${name} Example` })
    const provider = { name: 'Continue with Main' }

    await t.test('the admin console of Keycloak imports the client in the guide', async (t) => {
      const { client, statuses } = await guided(t, 'imported', () => ({}))
      const folder = t.testdir({ 'client.json': JSON.stringify(client) })
      const { page } = await openBrowser(t, (await world(t)).service)
      await page.goto(`${keycloak.url}/admin/master/console/#/imported/clients`)
      await fillIn(page, ADMIN.username, ADMIN.password)
      await page.getByRole('link', { name: 'Import client' }).click()
      await page.locator('input[type=file]').setInputFiles(join(folder, 'client.json'))
      await eventually(
        async () => (await page.locator('#clientId').inputValue()) === 'rollcall',
        'the console to read the file',
      )
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('tab', { name: 'Credentials' }).click()
      const secret = page.locator('#kc-client-secret')
      await eventually(async () => (await secret.inputValue()) !== '', 'the secret of the client')
      t.strictSame(await statuses(await secret.inputValue()), ADMITTED)
    })

    await t.test('one person signs in and out, then another one signs in', async (t) => {
      const { service } = await world(t)
      const { page } = await openBrowser(t, service)
      await page.goto('/login?return_to=%2Fsettings%2Fpreferences')
      await page.getByRole('button', provider).click()
      await fillIn(page, 'ada')
      await page.getByRole('button', account('Ada')).click()
      await page.waitForURL('**/settings/preferences')
      await page.getByRole('menuitem', { name: /^Sign out/ }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await page.getByRole('button', provider).click()
      // Keycloak remembers Ada and asks for her password only; this link allows another user name.
      await page.locator('#reset-login').click()
      await fillIn(page, 'bob')
      await page.getByRole('button', account('Bob')).waitFor()
      t.pass('as Bob')
    })

    for (const keep_id_token of [true, false])
      await t.test(`a sign-out ends the session at Keycloak, with keep_id_token: ${keep_id_token}`, async (t) => {
        const settings = { [`${AT}.logout`]: 'provider', [`${AT}.keep_id_token`]: String(keep_id_token) }
        const { service, name } = await world(t, { settings })
        const [ada] = await keycloak.admin<readonly [{ id: string }]>('GET', `/${name}/users?username=ada`)
        const sessions = () => keycloak.admin<readonly unknown[]>('GET', `/${name}/users/${ada.id}/sessions`)
        const { page } = await openBrowser(t, service)
        await page.goto('/login')
        await page.getByRole('button', provider).click()
        await fillIn(page, 'ada')
        await page.getByRole('button', account('Ada')).click()
        t.equal((await sessions()).length, 1)
        await page.getByRole('menuitem', { name: /^Sign out/ }).click()
        // Without the ID token, Keycloak asks the person to confirm.
        if (!keep_id_token) await page.getByRole('button', { name: 'Logout' }).click()
        await page.getByText('You are signed out here and at the provider.').waitFor()
        t.strictSame(await sessions(), [])
      })

    await t.test('if one of two open tabs signs in, Keycloak also signs in the other one', async (t) => {
      const { service } = await world(t)
      const { page, newPage } = await openBrowser(t, service)
      const other = await newPage()
      for (const [tab, path] of [
        [page, '/settings/preferences'],
        [other, '/ns/default/segments'],
      ] as const) {
        await tab.goto(`/login?return_to=${encodeURIComponent(path)}`)
        await tab.getByRole('button', provider).click()
        await tab.getByLabel('Username or email').waitFor()
      }
      await fillIn(page, 'ada')
      await page.getByRole('button', account('Ada')).waitFor()
      await page.waitForURL('**/settings/preferences')
      await other.getByRole('button', account('Ada')).waitFor()
      await other.waitForURL('**/ns/default/segments')
      t.pass('both are signed in, each on its page')
    })

    await t.test('a wrong client secret is shown on the page with the request id of the log', async (t) => {
      const { service, refusal } = await world(t, { settings: { [`${AT}.client_secret`]: 'another' } })
      const { page } = await openBrowser(t, service)
      await page.goto('/login')
      await page.getByRole('button', provider).click()
      await fillIn(page, 'ada')
      const alert = page.getByRole('alert')
      await alert.getByText('The provider does not accept Rollcall as its client.').waitFor()
      const { requestId } = await refusal()
      t.match(await alert.innerText(), `Request ${String(requestId)}`)
    })

    await t.test('a refused consent is shown next to the button of the provider', async (t) => {
      const { service, refusal } = await world(t, { client: { consentRequired: true } })
      const { page } = await openBrowser(t, service)
      await page.goto('/login')
      await page.getByRole('button', provider).click()
      await fillIn(page, 'ada')
      await page.getByRole('button', { name: 'No' }).click()
      await page
        .getByRole('alert')
        .getByText(/access denied/)
        .waitFor()
      t.match(await refusal(), { providerError: 'access_denied' })
      t.equal(await page.getByRole('button', provider).isEnabled(), true)
    })
  })
})
