import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  clockSkew,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None,
  type ServerMetadata,
  setJwksCache,
} from 'openid-client'
import type { ClaimUse } from '../../access/claims.ts'
import { isRefusal, whyOf } from '../../base/errors.ts'
import { type Cached, cached } from '../cached.ts'
import { isObject } from '../identity.ts'
import { KEY_SET, SIGNATURES } from '../outgoing/authority.ts'
import {
  type Asking,
  jsonOf,
  type ProviderFetch,
  type ProviderStep,
  placeOf,
  unusable,
} from '../outgoing/provider-fetch.ts'
import { refusalFor, withMore } from '../refusal-details.ts'
import type { CallbackPlace } from './callback.ts'

const WELL_KNOWN = '/.well-known/'

/** Settings for reading a provider's discovery document. */
export type Discovery = Asking & {
  readonly issuerUrl: string
  /** URL of the discovery document, or its part before `/.well-known/openid-configuration`; absent: the issuer. */
  readonly discoveryUrl?: string | undefined
  readonly clientId: string
}

/** URL of the discovery document (OpenID Connect Discovery 1.0 §4). */
const documentAt = ({ issuerUrl, discoveryUrl = issuerUrl }: Discovery): URL => {
  const at = new URL(discoveryUrl)
  if (!at.pathname.includes(WELL_KNOWN))
    at.pathname = `${at.pathname.replace(/\/+$/, '')}${WELL_KNOWN}openid-configuration`
  return at
}

const DISCOVERY = 'discovery'
const withoutSlash = (address: string): string => address.replace(/\/$/, '')

const incomplete = (member: string): never => {
  throw refusalFor('document_incomplete', { member })
}

/** Part in which the issuer differs from the configured one, if any. */
const difference = (issuer: string, expected: URL): string | undefined => {
  if (URL.canParse(issuer) && new URL(issuer).href === expected.href) return undefined
  if (/[{}]/.test(issuer)) return 'tenant, which is a placeholder'
  if (!URL.canParse(issuer)) return incomplete('issuer')
  const named = new URL(issuer)
  if (withoutSlash(named.href) === withoutSlash(expected.href)) return 'trailing slash'
  return named.protocol !== expected.protocol ? 'scheme' : named.host === expected.host ? 'path' : 'host'
}

/** Returns true if an endpoint may be called: over https, or over plain http if the document came over plain http. */
export const mayBeAsked = (endpoint: unknown, settings: Discovery): boolean => {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return false
  const url = new URL(endpoint)
  return url.protocol === 'https:' || (url.protocol === documentAt(settings).protocol && settings.mayBeHttp(url))
}

/** Refuses a discovery document that does not work with this configuration. */
const checked = (
  document: unknown,
  settings: Discovery,
  place: ProviderStep,
  endpoints: readonly string[],
): Readonly<Record<string, unknown>> => {
  if (!isObject(document)) return unusable(place, 'answer is not a JSON object')
  const { issuer, require_pushed_authorization_requests: par } = document
  if (typeof issuer !== 'string') return incomplete('issuer')
  const part = difference(issuer, new URL(settings.issuerUrl))
  if (part) throw refusalFor('issuer_other', { part })
  for (const member of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', ...endpoints]) {
    if (!mayBeAsked(document[member], settings)) return incomplete(member)
  }
  if (algorithmsOf(document['id_token_signing_alg_values_supported']).length === 0)
    return incomplete('algorithm for ID tokens')
  if (par === true) return incomplete('authorization endpoint, because it requires pushed authorization requests (PAR)')
  return document
}

/** Reads the discovery document. Refuses an unusable one with `provider_unavailable` or `provider_mismatch`. */
const discover = async (
  settings: Discovery,
  call: ProviderFetch,
  endpoints: readonly string[],
): Promise<ServerMetadata> => {
  const at = documentAt(settings)
  const place = placeOf(DISCOVERY, at.href)
  try {
    const found = await discovery(at, settings.clientId, undefined, None(), {
      // Checked before the library reads it, because the library accepts the template issuers of two known hosts.
      [customFetch]: async (url, init) =>
        Response.json(checked(await jsonOf(await call(DISCOVERY, url, init), place), settings, place, endpoints)),
      execute: [allowInsecureRequests],
    })
    const { ...metadata } = found.serverMetadata()
    return metadata
  } catch (error) {
    return unusable(place, error)
  }
}

/** Accepted signature algorithms that the document lists; all accepted ones if it lists none. */
export const algorithmsOf = (listed: unknown): string[] =>
  SIGNATURES.filter((algorithm) => !Array.isArray(listed) || listed.includes(algorithm))

/** Cache lifetimes in ms of the document and the key set. */
export const DOCUMENT_LIFE_MS = 3_600_000
const KEYS_LIFE_MS = 300_000

export type KeySet = { readonly keys: object[] }

/** Reads the key set at an address. Refuses an answer that is not a key set. */
const keySet = async (address: string, call: ProviderFetch): Promise<KeySet> => {
  const place = placeOf('keys', address)
  const set = await jsonOf(await call(place.step, address, { method: 'GET', headers: { accept: KEY_SET } }), place)
  return isObject(set) && Array.isArray(set['keys']) && set['keys'].every(isObject)
    ? { keys: set['keys'] }
    : unusable(place, 'key set without keys')
}

/** A provider's discovery document, and a cache of the keys at its `jwks_uri`. */
export type Known = { readonly metadata: ServerMetadata; readonly keys: Cached<KeySet> }

/**
 * Reads the document of a provider, which must contain `endpoints` in addition to the default ones. Keys are read on
 * demand.
 */
export const known = async (settings: Discovery, call: ProviderFetch, endpoints: readonly string[]): Promise<Known> => {
  const metadata = await discover(settings, call, endpoints)
  const { now } = settings.clock
  return { metadata, keys: cached(() => keySet(metadata.jwks_uri!, call), { life: KEYS_LIFE_MS, now }) }
}

/**
 * Reads the provider's document again after a login failed at the provider's end, and returns it if the endpoints
 * changed. Rejects with the original failure if they did not change, and adds the second cause if the document cannot
 * be read.
 */
export const movedTo = async (before: Known, failure: unknown, again: () => Promise<Known>): Promise<Known> => {
  const isOfProvider = isRefusal(failure, 'provider_unavailable') || isRefusal(failure, 'provider_mismatch')
  // An invalid ID token may come from a new signing method, which the next login uses. The code of this login can be
  // used only once.
  if (!isOfProvider && !isRefusal(failure, 'id_token_invalid')) throw failure
  let newer: Known
  try {
    newer = await again()
  } catch (error) {
    if (error === failure) throw failure
    throw withMore(failure, `read again: ${whyOf(error)}`)
  }
  const moving = ['token_endpoint', 'jwks_uri', 'userinfo_endpoint'] as const
  const same = moving.every((name) => newer.metadata[name] === before.metadata[name])
  if (!isOfProvider || same) throw failure
  return newer
}

/** openid-client reads keys again only if the given ones are at least this old. */
const KEYS_OLD_S = 60

export type OidcSettings = Discovery &
  CallbackPlace & {
    readonly name: string
    /** The secret is absent if the client has none: then `clientAuthentication` is `none`. */
    readonly clientSecret?: string | undefined
    /** Client authentication method; absent: chosen by the discovery document, `basic` first. */
    readonly clientAuthentication?: 'basic' | 'post' | 'none' | undefined
    /** Clock tolerance in ms. */
    readonly clockTolerance: number
    readonly scopes: readonly string[]
    /** Source of the person's claims: the ID token only, or userinfo as well. */
    readonly claims: 'id_token' | 'userinfo'
    /** Further parameters of the authorization request. */
    readonly parameters: Readonly<Record<string, string>>
    /** True to return the ID token with the identity. */
    readonly keepIdToken?: boolean
    /** Claims that rules use. These claims are kept when an identity exceeds the size limit. */
    readonly asked: readonly ClaimUse[]
  }

/**
 * Library configuration of our client at a provider, from its document. The cached keys are needed where signatures are
 * verified.
 */
export const clientAt =
  ({ clientId, clock: { now }, clockTolerance: tolerance }: OidcSettings) =>
  (metadata: ServerMetadata, held?: KeySet) =>
  (authentication: ClientAuth): Configuration => {
    // The library reads the system clock. The skew corrects it to the service's clock.
    const skew = Math.round((now().getTime() - Date.now()) / 1000)
    const server = {
      ...metadata,
      id_token_signing_alg_values_supported: algorithmsOf(metadata.id_token_signing_alg_values_supported),
      userinfo_signing_alg_values_supported: algorithmsOf(metadata.userinfo_signing_alg_values_supported),
    }
    const config = new Configuration(
      server,
      clientId,
      { [clockSkew]: skew, [clockTolerance]: Math.round(tolerance / 1000) },
      authentication,
    )
    // The library's https check is off because the endpoints were checked when the document was read.
    allowInsecureRequests(config)
    // Without this option the library relies on TLS and does not verify signatures.
    enableNonRepudiationChecks(config)
    // The library compares the age of the keys with the system clock as well.
    if (held) setJwksCache(config, { jwks: { keys: [...held.keys] }, uat: Math.floor(Date.now() / 1000) - KEYS_OLD_S })
    return config
  }

/** Client authentication methods in the order of the attempts. */
export const authentications = (
  { token_endpoint_auth_methods_supported: listed }: ServerMetadata,
  { clientSecret: secret, clientAuthentication }: OidcSettings,
): readonly ClientAuth[] => {
  if (secret === undefined || clientAuthentication === 'none') return [None()]
  if (clientAuthentication === 'basic') return [ClientSecretBasic(secret)]
  if (clientAuthentication === 'post') return [ClientSecretPost(secret)]
  const methods = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return Array.isArray(listed) && listed.includes('client_secret_post') && !listed.includes('client_secret_basic')
    ? methods.reverse()
    : methods
}

/** Returns true if the provider lists client authentication methods and none of them is supported. */
export const isUnprovable = ({ token_endpoint_auth_methods_supported: listed }: ServerMetadata): boolean =>
  Array.isArray(listed) &&
  !['client_secret_basic', 'client_secret_post', 'none'].some((method) => listed.includes(method))
