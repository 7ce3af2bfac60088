import { invalid, type Refusal, refusals } from '../../base/errors.ts'
import { type LoginCause, providerErrors } from '../../base/login-causes.ts'
import type { LoginKind } from '../../events/login.ts'
import type { ProviderStep } from '../outgoing/provider-fetch.ts'
import { causeRow, type Gaps, providerCode, refusalDetailsOf, refusalFor } from '../refusal-details.ts'

/** Name of the callback in its messages. Configured names do not change it (api.md §5.5, §5.6). */
const words: Readonly<Record<LoginKind, string>> = { oidc: 'OIDC', codehost: 'codehost' }

const ONCE = ['code', 'state', 'error', 'iss'] as const
/** Refuses a login with the callback's message for this cause: `handling OIDC callback: …`. */
export const refuseCallback = (
  callback: LoginKind,
  fault: LoginCause,
  gaps?: Gaps,
  extras?: Omit<Parameters<typeof refusalFor>[2] & object, 'message'>,
): never => {
  const message = `handling ${words[callback]} callback: ${refusals[causeRow(fault).reason].sentence}`
  throw refusalFor(fault, gaps, { ...extras, message })
}

/** The provider's error code in a refusal, from the callback's query or the token endpoint. */
export const providerErrorOf = (refusal: Refusal): string | undefined =>
  refusal.metadata['error'] ?? refusalDetailsOf(refusal).providerError

/**
 * Refuses a callback that repeats `code`, `state`, `error` or `iss`. It must run first, because such a callback does
 * not end the login.
 */
export const givenOnce = (query: URLSearchParams): void => {
  for (const name of ONCE) if (query.getAll(name).length > 1) invalid(name, 'given twice')
}

/** Returns the parameter. An empty parameter counts as absent. */
export const given = (query: URLSearchParams, name: (typeof ONCE)[number]): string | undefined =>
  query.get(name) || undefined

/**
 * Returns false if the callback names an issuer other than the configured one (RFC 9207). Needs no discovery, so it
 * works while the provider is down.
 */
const issuerFits = (query: URLSearchParams, issuerUrl: string): boolean => {
  const named = given(query, 'iss')
  return named === undefined || (URL.canParse(named) && new URL(named).href === new URL(issuerUrl).href)
}

/**
 * Returns the code of a callback. Refuses a foreign issuer, then the provider's error, then a missing code (api.md
 * §5.5). A code host has no issuer.
 */
export const codeOf = (callback: LoginKind, query: URLSearchParams, issuerUrl?: string): string => {
  givenOnce(query)
  if (issuerUrl !== undefined && !issuerFits(query, issuerUrl)) refuseCallback(callback, 'issuer_mismatch')
  const code = given(query, 'error')
  if (code !== undefined) {
    const error = providerCode(code)
    // The description is not logged because anyone who sends a browser here can write it.
    const cause = error !== undefined && Object.hasOwn(providerErrors, error) && providerErrors[error]!.cause
    refuseCallback(callback, cause || 'provider_other', {}, error === undefined ? {} : { metadata: { error } })
  }
  return given(query, 'code') ?? invalid('code', 'must not be empty')
}

/** Refuses a login because the provider's answer about the person exceeds the size limit. */
export const tooMuchTold = (callback: LoginKind, place: ProviderStep): never =>
  refuseCallback(callback, 'identity_large', { what: `${place.step} at ${place.host} answered with more than 1 MiB` })

/** External base address and path of a callback. */
export type CallbackPlace = { readonly redirectAddress: string; readonly callbackPath: string }

/** Redirect URI of a callback, exactly as it is sent. Built from configuration only, never from a request. */
export const redirectUriOf = ({ redirectAddress, callbackPath }: CallbackPlace): string =>
  new URL(`${redirectAddress.replace(/\/+$/, '')}${callbackPath}`).href

/** Rebuilds the callback URL from the configured redirect URI and the given parameters. */
export const answered = (redirectUri: string, parameters: Readonly<Record<string, string>>): URL => {
  const url = new URL(redirectUri)
  url.search = new URLSearchParams(parameters).toString()
  return url
}
