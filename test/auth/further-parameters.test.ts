import type { ServerMetadata } from 'openid-client'
import t from 'tap'
import { codehost } from '../../src/auth/codehost/codehost.ts'
import { freshSecrets } from '../../src/auth/identity.ts'
import { askingOf } from '../../src/auth/oidc/further-parameters.ts'
import { virtualClock } from '../virtual-clock.ts'
import { client, fails, login } from './at-provider.ts'
import { directly } from './directly.ts'
import { codehostClient } from './stand-ins/codehost.ts'
import { lyingProvider } from './stand-ins/liar.ts'

const host = (parameters: Readonly<Record<string, string>>) =>
  codehost({
    ...directly,
    clock: virtualClock(),
    userAgent: 'rollcall/1.2.3',
    kind: 'github',
    serverUrl: 'https://code.example.com',
    apiUrl: 'https://code.example.com/api',
    ...codehostClient,
    redirectAddress: 'https://flags.example.com',
    callbackPath: '/auth/v1/method/codehost/callback',
    scopes: ['read:org'],
    parameters,
    allowedOrganizations: [],
    allowedTeams: {},
  })

/** Configured `prompt`, and the sent values: normally, and with `forceLogin`. */
const PROMPTS: readonly [string | undefined, string | null, string][] = [
  [undefined, null, 'asks'],
  ['consent', 'consent', 'asks'],
  ['none', 'none', 'asks'],
  ['loginish', 'loginish', 'asks'],
  ['login', 'login', 'login'],
  ['select_account', 'select_account', 'select_account'],
  ['consent select_account', 'consent select_account', 'consent select_account'],
]

await t.test('configured authorization parameters are sent to the provider, with a login prompt kept', async (t) => {
  const liar = await lyingProvider(t)
  for (const [configured, begun, forced] of PROMPTS) {
    const parameters = { hd: 'example.com', acr_values: 'urn:a urn:b', ...(configured && { prompt: configured }) }
    for (const [way, asks] of [
      [client(liar.url, { parameters }), 'login'],
      [host(parameters), 'select_account'],
    ] as const) {
      const promptOf = async (asked: boolean) => {
        const { searchParams } = await way.begin(freshSecrets(), asked)
        t.equal(searchParams.get('hd'), 'example.com')
        t.equal(searchParams.get('acr_values'), 'urn:a urn:b')
        t.ok(searchParams.getAll('prompt').length <= 1)
        return searchParams.get('prompt')
      }
      t.equal(await promptOf(false), begun, String(configured))
      t.equal(await promptOf(true), forced === 'asks' ? asks : forced, String(configured))
    }
  }
})

await t.test('prompt=select_account is sent to a provider that does not support prompt=login', (t) => {
  const rows: readonly [unknown, string][] = [
    [undefined, 'login'],
    [[], 'login'],
    [['none', 'login', 'consent'], 'login'],
    [['none', 'consent'], 'login'],
    [['none', 'consent', 'select_account'], 'select_account'],
    ['select_account', 'login'],
  ]
  for (const [listed, asking] of rows) {
    const document = { issuer: 'https://id.example.com', prompt_values_supported: listed } as ServerMetadata
    t.equal(askingOf(document), asking, String(listed))
  }
  t.equal(askingOf({ issuer: 'https://accounts.google.com' }), 'select_account')
  t.end()
})

await t.test('max_age is sent to the provider, and auth_time of the ID token is checked', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url, { parameters: { max_age: '60' } })
  const now = Math.floor(Date.now() / 1000)
  for (const [auth_time, outcome] of [
    [now, 'taken'],
    [now - 60, 'taken'],
    [now - 600, 'refused'],
    [undefined, 'refused'],
    ['soon', 'refused'],
  ] as const) {
    liar.lies = { claims: { auth_time } }
    const answer = await login(provider)
    if (outcome === 'taken') t.equal((await provider.finish(answer)).subject.sub, 'alice')
    else await fails(t, () => provider.finish(answer), 'id_token_invalid')
  }
})
