import type { LoginKind } from '../events/login.ts'
import { invalid, type Reason, type Refusal, refusals, refuse } from '../errors.ts'

/** What a callback is called in its messages, whatever names are configured (api.md §5.5, §5.6). */
const words: Readonly<Record<LoginKind, string>> = { oidc: 'OIDC', codehost: 'codehost' }

const ONCE = ['code', 'state', 'error', 'iss'] as const
const PROVIDER_CODE = /^[a-z_]{1,64}$/

/** Refuses a login with the message that a callback gives for this reason: `handling OIDC callback: …`. */
export const refuseCallback = (
  callback: LoginKind,
  reason: Reason,
  extras?: { readonly metadata?: Readonly<Record<string, string>>; readonly cause?: unknown },
): never => refuse(reason, `handling ${words[callback]} callback: ${refusals[reason].sentence}`, extras)

/** A cause for the log that carries the provider's own code, where that has the form of one. */
export const withProviderError = (cause: Error, code: unknown): Error =>
  typeof code === 'string' && PROVIDER_CODE.test(code) ? Object.assign(cause, { providerError: code }) : cause

/** The code that the provider itself gave for a refusal: in the browser's address, or at its token endpoint. */
export const providerErrorOf = ({ metadata, cause }: Refusal): string | undefined =>
  metadata['error'] ?? (cause as { readonly providerError?: string } | undefined)?.providerError

/** Refuses a callback that gives `code`, `state`, `error` or `iss` twice. Must run first: such a callback does not consume the login. */
export const givenOnce = (query: URLSearchParams): void => {
  for (const name of ONCE) if (query.getAll(name).length > 1) invalid(name, 'given twice')
}

/** The parameter, where an empty one counts as absent. */
export const given = (query: URLSearchParams, name: (typeof ONCE)[number]): string | undefined =>
  query.get(name) || undefined

/**
 * True unless the callback names an issuer other than the configured one (RFC 9207). Works without discovery, so a
 * foreign answer is refused even while the provider is down.
 */
const issuerFits = (query: URLSearchParams, issuerUrl: string): boolean => {
  const named = given(query, 'iss')
  return named === undefined || (URL.canParse(named) && new URL(named).href === new URL(issuerUrl).href)
}

/**
 * The code of a callback. Refuses a foreign issuer, then the provider's own error, then a missing code (api.md §5.5). A
 * code host has no issuer.
 */
export const codeOf = (callback: LoginKind, query: URLSearchParams, issuerUrl?: string): string => {
  givenOnce(query)
  if (issuerUrl !== undefined && !issuerFits(query, issuerUrl)) refuseCallback(callback, 'issuer_mismatch')
  const error = given(query, 'error')
  if (error !== undefined)
    refuseCallback(callback, 'provider_error', PROVIDER_CODE.test(error) ? { metadata: { error } } : {})
  return given(query, 'code') ?? invalid('code', 'must not be empty')
}

/** Refuses a login because the provider tells more of who came back than is read or kept. The cause is for the operator. */
export const tooMuchTold = (callback: LoginKind, cause: string): never =>
  refuseCallback(callback, 'identity_too_large', { cause: new Error(cause) })
