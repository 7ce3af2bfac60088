import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { type Answer, bodyOf, json, listen, type Scope, type Tls } from './listen.ts'

/** Wrong answers of the provider. */
export type Lies = {
  readonly document?: Answer | Readonly<Record<string, unknown>>
  readonly token?: Answer | Readonly<Record<string, unknown>>
  readonly keys?: Answer | Readonly<Record<string, unknown>>
  /** Answer at `/gone`. */
  readonly gone?: Answer
  readonly claims?: Readonly<Record<string, unknown>>
  /** Claims of userinfo in addition to `sub`. */
  readonly userinfo?: Answer | Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  /** Creates the ID token instead of the provider's key. */
  readonly sign?: (claims: Record<string, unknown>) => string | Promise<string>
}

export const lyingClient = { clientId: 'rollcall', clientSecret: 'canary-client-secret-of-at-least-32-bytes' }

/**
 * An OpenID Connect provider with configurable wrong answers. Its authorization endpoint redirects at once without a
 * sign-in. Closes itself.
 */
export const lyingProvider = async (t: Scope, tls?: Tls) => {
  type State = {
    lies: Lies
    asked: string[]
    agents: (string | undefined)[]
    traceparents: (string | undefined)[]
    proofs: ('header' | 'body' | 'none')[]
    now: () => number
  }
  /** `proofs`: client authentication method of each token request. */
  const state: State = { lies: {}, asked: [], agents: [], traceparents: [], proofs: [], now: Date.now }
  const logins = new Map<string, { nonce: string; challenge: string }>()
  let keys: { jwk: JWK; privateKey: CryptoKey }[] = []
  const addKey = async (alg = 'ES256') => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    keys = [{ jwk: { ...(await exportJWK(publicKey)), kid: randomUUID(), alg, use: 'sig' }, privateKey }]
  }
  await addKey()

  const answer = (lie: Answer | Readonly<Record<string, unknown>> | undefined, truth: object): Answer =>
    typeof lie === 'function' ? lie : json(200, { ...truth, ...lie })

  const signed = (claims: Record<string, unknown>, header: Lies['header'] = {}) => {
    const [{ jwk, privateKey }] = keys as [(typeof keys)[0]]
    return new SignJWT(claims).setProtectedHeader({ alg: jwk.alg!, kid: jwk.kid!, ...header }).sign(privateKey)
  }

  const idToken = async ({ nonce }: { nonce: string }) => {
    const now = Math.floor(state.now() / 1000)
    const claims = {
      iss: url,
      aud: lyingClient.clientId,
      sub: 'alice',
      iat: now,
      exp: now + 300,
      nonce,
      ...state.lies.claims,
    }
    if (state.lies.sign) return state.lies.sign(claims)
    return signed(claims, state.lies.header)
  }

  /** Query of the callback. */
  const authorized = ({ searchParams }: URL): URL => {
    const code = `canary-code-${randomUUID()}`
    logins.set(code, { nonce: searchParams.get('nonce')!, challenge: searchParams.get('code_challenge')! })
    const back = new URL(searchParams.get('redirect_uri')!)
    back.search = new URLSearchParams({ code, state: searchParams.get('state')! }).toString()
    return back
  }

  const answerTo = async (request: IncomingMessage, response: ServerResponse) => {
    const address = new URL(request.url!, url)
    const { pathname } = address
    state.asked.push(pathname)
    state.agents.push(request.headers['user-agent'])
    state.traceparents.push(request.headers['traceparent'] as string | undefined)
    if (pathname === '/authorize') response.writeHead(302, { location: authorized(address).href }).end()
    else if (pathname === '/token') {
      const form = new URLSearchParams(await bodyOf(request))
      state.proofs.push(form.has('client_secret') ? 'body' : request.headers.authorization ? 'header' : 'none')
      if (typeof state.lies.token === 'function') return state.lies.token(response)
      const login = logins.get(form.get('code')!)
      logins.delete(form.get('code')!)
      const fits = createHash('sha256').update(form.get('code_verifier')!).digest('base64url') === login?.challenge
      if (!login || !fits) json(400, { error: 'invalid_grant', error_description: `no ${form.get('code')}` })(response)
      else
        answer(state.lies.token, {
          access_token: 'canary-access-token',
          token_type: 'Bearer',
          id_token: await idToken(login),
        })(response)
    } else if (pathname === '/keys') answer(state.lies.keys, { keys: keys.map(({ jwk }) => jwk) })(response)
    else if (pathname === '/userinfo') {
      if (request.headers.authorization !== 'Bearer canary-access-token')
        json(401, { error: 'invalid_token' })(response)
      else answer(state.lies.userinfo, { sub: 'alice' })(response)
    } else if (pathname.endsWith('/.well-known/openid-configuration'))
      answer(state.lies.document, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        userinfo_endpoint: `${url}/userinfo`,
        id_token_signing_alg_values_supported: ['none', 'HS256', 'ES256', 'RS384'],
      })(response)
    else if (pathname === '/gone' && state.lies.gone) state.lies.gone(response)
    else json(200, {})(response)
  }
  const url = await listen(t, answerTo, tls)
  /** `rotate` replaces the provider's key, `signed` signs with the current key. */
  return Object.assign(state, { url, rotate: addKey, signed, authorized })
}

/** A provider that `lyingProvider` started. */
export type Liar = Awaited<ReturnType<typeof lyingProvider>>
