import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rowNow } from '../../as-of/as-of.ts'
import { providerCode } from '../../auth/refusal-details.ts'
import { isRefusal, refuse, whyOf } from '../../base/errors.ts'
import type { Nothing, Shown } from '../../contract/answer.ts'
import type { Expired } from '../../contract/login/login.ts'
import { readable } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import type { Call } from '../route/route.ts'
import type { LoginMethod, LoginService, LoginServices } from '../services/logins.ts'
import type { Caller } from '../wire/caller.ts'
import { rawQuery } from '../wire/path.ts'
import { type Answer, redirect } from '../wire/reply.ts'
import { isAhead, isPerson } from './login-page.ts'

/** ID token of a session, its client token, the person, and its expiry (RFC 3339 UTC with milliseconds). */
type SessionIdToken = {
  readonly idToken: string
  readonly clientToken: string
  readonly subject: string
  readonly expiresAt: string
}
type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/**
 * Maximum characters of a kept ID token. With it the headers of a callback stay below 4 KiB, the default buffer of
 * nginx, and the address of the logout below the limits of providers.
 */
const MOST_CHARACTERS = 2048
const TOO_LARGE =
  'the ID token is too large to be kept until sign-out, so the provider may ask the person to confirm the sign-out; configure the provider to put fewer claims into the ID token, or set claims: userinfo'
const NOT_THERE =
  'a sign-out ended only the session of this service, because the discovery document has no usable end_session_endpoint; correct the provider, or set logout: local'
const FAILED =
  'a sign-out ended only the session of this service, because the logout at the provider could not be prepared'
const REFUSED = 'the provider reports that it did not end its session; compare its settings with the guide'

/** Seals the ID token of a completed login into a cookie, if its provider is to receive it at sign-out. */
export const keepIdToken = async (
  { cookies, logins, sealer, settings, lines }: LoginService,
  { request, reply }: Exchange,
  { provider, logout }: LoginMethod,
  { clientToken, ...kept }: SessionIdToken,
): Promise<void> => {
  if (!logout?.keepsIdToken) return
  const { length: characters } = kept.idToken
  if (characters > MOST_CHARACTERS)
    return lines.warn(`ID token ${provider}`, { provider, characters, most: MOST_CHARACTERS }, TOO_LARGE)
  const sealed = await logins.idTokens(clientToken, sealer).seal(kept)
  cookies.setIdToken(request, reply, sealed, settings.session.tokenLifetime)
}

/** Clears the cookie of `keepIdToken`, if a provider is configured to have one. */
export const forgetIdToken = ({ cookies, logins }: LoginServices, { request, reply }: Exchange): void => {
  if ([...logins.oidc.values()].some(({ logout }) => logout?.keepsIdToken)) cookies.clearIdToken(request, reply)
}

/** ID token of the session in the request's cookies; undefined if there is none that this session sealed. */
const idTokenOf = async (
  { cookies, logins, sealer }: LoginService,
  request: FastifyRequest,
): Promise<string | undefined> => {
  const [clientToken, sealed] = [cookies.token(request), cookies.stored(request)]
  if (clientToken === undefined || sealed === undefined) return undefined
  return logins.idTokens(clientToken, sealer).open(sealed)
}

/** Provider of the browser session in use; undefined for a bearer token and for a session of another method. */
export const providerOf = async (
  { log, logins }: LoginService,
  { via, actor }: Caller,
): Promise<LoginMethod | undefined> => {
  if (via !== 'cookie' || actor.method !== 'oidc') return undefined
  return logins.oidc.get(readable(await rowNow(log, tokens, actor.id!))?.doc?.provider ?? '')
}

/**
 * Begins the logout at the provider of a session that has ended here (api.md §5.5): the address for the browser, and a
 * cookie that binds the return to this browser. Empty if the provider has no logout or is unavailable. Never fails,
 * because the session has ended already.
 */
export const beginLogout = async (
  service: LoginService,
  { request, reply }: Exchange,
  { provider = '', logout }: LoginMethod,
): Promise<Shown<typeof Expired>> => {
  const { cookies, logins, now, settings, lines } = service
  if (!logout) return {}
  const { returnTo, returnPath } = logout
  const state = randomBytes(32).toString('base64url')
  try {
    const url = await logout.url({ returnTo, state, idToken: await idTokenOf(service, request) })
    if (!url) {
      lines.warn(`logout ${provider}`, { provider }, NOT_THERE)
      return {}
    }
    const life = settings.session.stateLifetime
    const expiresAt = new Date(now().getTime() + life).toISOString()
    cookies.setLogout(reply, logins.logouts.seal({ state, provider, expiresAt }), returnPath, life)
    return { logoutUrl: url.href }
  } catch (error) {
    // The log of outages has a line about a provider that is unavailable.
    if (!isRefusal(error, 'provider_unavailable'))
      lines.warn(`logout ${provider}`, { provider, why: whyOf(error) }, FAILED)
    return {}
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()

/**
 * Ends the return of a browser from a logout at its provider: redirects to the sign-in page, which confirms the logout
 * if the state is that of this browser.
 */
export const endLogout = (
  service: LoginService,
  { request, reply, params: { provider = '' } }: Call<unknown, unknown>,
): Answer<Shown<typeof Nothing>> => {
  const { cookies, logins, now, lines } = service
  if (isAhead(request)) refuse('invalid_header', 'invalid header Sec-Purpose: a logout is not finished ahead of time')
  const query = new URLSearchParams(rawQuery(request))
  const page = (search = '') =>
    isPerson(service, request) ? redirect(`${cookies.basePath(request)}/login${search}`, {}, {}) : { body: {} }
  const { logout } = logins.oidc.get(provider) ?? {}
  const held = logins.logouts.open(cookies.stored(request) ?? '')
  const [state = '', ...others] = query.getAll('state')
  if (!logout || held?.provider !== provider || others.length > 0) return page()
  if (!timingSafeEqual(digest(held.state), digest(state)) || held.expiresAt <= now().toISOString()) return page()
  cookies.clearLogout(reply, logout.returnPath)
  const error = query.get('error')
  if (error === null) return page('?signed_out=true')
  lines.warn(`post-logout ${provider}`, { provider, providerError: providerCode(error) }, REFUSED)
  return page()
}
