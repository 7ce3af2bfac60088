import type { Test } from 'tap'
import { freshSecrets, type LoginSecrets } from '../../src/auth/identity.ts'
import type { OidcSettings } from '../../src/auth/oidc/discovery.ts'
import { oidcProvider } from '../../src/auth/oidc/oidc.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Reason } from '../../src/base/errors.ts'
import { virtualClock } from '../virtual-clock.ts'
import { directly } from './directly.ts'
import { refused } from './refused.ts'
import { lyingClient, lyingProvider } from './stand-ins/liar.ts'

const redirectAddress = 'https://flags.example.com/base/'
const callbackPath = '/auth/v1/method/oidc/main/callback'
export const back = 'https://flags.example.com/base/auth/v1/method/oidc/main/callback'
export const MESSAGES = {
  code_refused: 'handling OIDC callback: code was refused',
  identity_too_large: 'handling OIDC callback: the provider tells more of this person than is kept',
  userinfo_invalid: 'handling OIDC callback: userinfo was refused',
  id_token_invalid: 'handling OIDC callback: ID token was refused',
  issuer_mismatch: 'handling OIDC callback: unexpected issuer',
  provider_error: 'handling OIDC callback: provider refused the login',
  oauth_client_refused: 'provider refused the client of this service',
  provider_mismatch: 'provider and configuration do not fit',
  provider_unavailable: 'service is temporarily unavailable',
} as const satisfies Partial<Record<Reason, string>>
export type Failure = keyof typeof MESSAGES

/** System time without timeouts, because real providers and the library use the system clock. */
export const patient: Clock = { ...systemClock, timeout: virtualClock().timeout }

/** OIDC client under test at a provider. */
export const client = (issuerUrl: string, more: Partial<OidcSettings> = {}) =>
  oidcProvider({
    ...directly,
    name: 'main',
    issuerUrl,
    ...lyingClient,
    redirectAddress,
    callbackPath,
    scopes: ['email'],
    clock: patient,
    userAgent: 'rollcall/1.2.3',
    clockTolerance: 30_000,
    asked: [],
    claims: 'id_token',
    parameters: {},
    ...more,
  })

/** Calls the liar's authorization endpoint and returns the query of the callback. */
export const visit = async (address: URL): Promise<URLSearchParams> => {
  const response = await fetch(address, { redirect: 'manual' })
  await response.text()
  return new URL(response.headers.get('location')!).searchParams
}

/** Runs a login up to the callback. */
export const login = async (provider: ReturnType<typeof client>, secrets: LoginSecrets = freshSecrets()) => {
  const query = await visit(await provider.begin(secrets))
  return { ...secrets, query }
}

/** Asserts the refusal of a login. It contains no secret, and has `Retry-After` where it applies. */
export const fails = async (t: Test, work: () => unknown, reason: Failure, secrets: readonly string[] = []) => {
  const refusal = await refused(t, work, reason, MESSAGES[reason], secrets)
  if (reason === 'provider_unavailable') t.match(refusal.headers, { 'retry-after': /^\d+$/ })
  return refusal
}

/** A liar and the client with one virtual clock. `Date` shows the same time, so that the library uses it too. */
export const together = async (t: Test) => {
  const clock = virtualClock()
  const now = () => clock.now().getTime()
  const liar = await lyingProvider(t)
  liar.now = now
  t.intercept(Date, 'now', { value: now })
  return { clock, liar, provider: client(liar.url, { clock }) }
}
