import t from 'tap'
import { client, fails, login } from './at-provider.ts'
import { lyingProvider } from './stand-ins/liar.ts'
import { json } from './stand-ins/listen.ts'

const request = { returnTo: 'https://flags.example.com/post-logout', state: 'a state' }

await t.test('the logout URL has the parameters of the protocol, each once', async (t) => {
  const liar = await lyingProvider(t)
  /** Logout URL with this endpoint in the discovery document. */
  const urlOf = (end_session_endpoint: unknown, more = {}) => {
    liar.lies = { document: { end_session_endpoint } }
    return client(liar.url).logoutUrl({ ...request, ...more })
  }
  const plain = { client_id: 'rollcall', post_logout_redirect_uri: request.returnTo, state: 'a state' }
  for (const [endpoint, expected] of Object.entries({
    [`${liar.url}/end`]: plain,
    [`${liar.url}/end?tenant=a%20b&state=theirs&client_id=theirs`]: { tenant: 'a b', ...plain },
    'https://sso.example.com/end': plain,
  })) {
    const url = await urlOf(endpoint)
    t.equal(url!.href.split('?')[0], endpoint.split('?')[0])
    t.strictSame(Object.fromEntries(url!.searchParams), expected, endpoint)
    t.equal([...url!.searchParams].length, Object.keys(expected).length, 'no parameter twice')
  }
  t.equal((await urlOf(`${liar.url}/end`, { idToken: 'a.b.c' }))!.searchParams.get('id_token_hint'), 'a.b.c')

  for (const endpoint of [undefined, '', 'end', 'http://sso.example.com/end', 'javascript:alert(1)', 7, null, {}])
    t.equal(await urlOf(endpoint), undefined, JSON.stringify(endpoint))

  for (const [document, reason] of [
    [json(500, {}), 'provider_unavailable'],
    [{ issuer: 'https://other.example.com' }, 'provider_mismatch'],
  ] as const) {
    liar.lies = { document }
    await fails(t, () => client(liar.url).logoutUrl(request), reason)
  }
})

await t.test('only a provider with keep_id_token returns the ID token with the identity', async (t) => {
  const liar = await lyingProvider(t)
  for (const keepIdToken of [true, false]) {
    const provider = client(liar.url, { keepIdToken })
    const { idToken } = await provider.finish(await login(provider))
    t.equal(idToken?.split('.').length, keepIdToken ? 3 : undefined)
  }
})
