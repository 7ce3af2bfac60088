import { allowInsecureRequests, customFetch, discovery, None, type ServerMetadata } from 'openid-client'
import { isRefusal, whyOf } from '../errors.ts'
import { type Cached, cached } from './cached.ts'
import { KEY_SET } from './media-types.ts'
import {
  type Asking,
  isObject,
  jsonOf,
  type ProviderFetch,
  type ProviderStep,
  placeOf,
  unusable,
} from './provider-fetch.ts'
import { refusalFor, withMore } from './refusal-details.ts'

/** Asymmetric algorithms that the library checks. Never taken: `none`, and those by a secret that we share. */
const ALGORITHMS = ['RS', 'PS', 'ES']
  .flatMap((kind) => [256, 384, 512].map((bits) => `${kind}${bits}`))
  .concat('EdDSA', 'Ed25519')
const WELL_KNOWN = '/.well-known/'

/** Whose document is read, and where. */
export type Discovery = Asking & {
  readonly issuerUrl: string
  /** Where the discovery document is, or what stands before `/.well-known/openid-configuration`; absent: at the issuer. */
  readonly discoveryUrl?: string | undefined
  readonly clientId: string
}

/** Where the document of an issuer is (OpenID Connect Discovery 1.0 §4). */
const documentAt = ({ issuerUrl, discoveryUrl = issuerUrl }: Discovery): URL => {
  const at = new URL(discoveryUrl)
  if (!at.pathname.includes(WELL_KNOWN))
    at.pathname = `${at.pathname.replace(/\/+$/, '')}${WELL_KNOWN}openid-configuration`
  return at
}

const DISCOVERY = 'discovery'
const withoutSlash = (address: string): string => address.replace(/\/$/, '')

/** In what an issuer differs from the one that was configured. */
const difference = (issuer: string, expected: URL): Parameters<typeof refusalFor> | undefined => {
  if (URL.canParse(issuer) && new URL(issuer).href === expected.href) return undefined
  if (/[{}]/.test(issuer)) return ['issuer_template']
  if (!URL.canParse(issuer)) return ['document_incomplete', { member: 'issuer' }]
  const named = new URL(issuer)
  if (withoutSlash(named.href) === withoutSlash(expected.href)) return ['issuer_slash']
  const part = named.protocol !== expected.protocol ? 'scheme' : named.host === expected.host ? 'path' : 'host'
  return ['issuer_other', { part }]
}

/** Whether an endpoint may be asked: over https, or in plain http where the document came so. */
const mayBeAsked = (endpoint: unknown, settings: Discovery): boolean => {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return false
  const url = new URL(endpoint)
  return url.protocol === 'https:' || (url.protocol === documentAt(settings).protocol && settings.mayBeHttp(url))
}

/** Refuses a discovery document that can be of no use with this configuration, and says why. */
const checked = (
  document: unknown,
  settings: Discovery,
  place: ProviderStep,
  endpoints: readonly string[],
): Readonly<Record<string, unknown>> => {
  if (!isObject(document)) return unusable(place, 'answer is no JSON object')
  const { issuer, require_pushed_authorization_requests: par } = document
  if (typeof issuer !== 'string') throw refusalFor('document_incomplete', { member: 'issuer' })
  const other = difference(issuer, new URL(settings.issuerUrl))
  if (other) throw refusalFor(...other)
  for (const member of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', ...endpoints]) {
    if (!mayBeAsked(document[member], settings)) throw refusalFor('document_incomplete', { member })
  }
  if (algorithmsOf(document['id_token_signing_alg_values_supported']).length === 0) throw refusalFor('algorithms')
  if (par === true) throw refusalFor('par_required')
  return document
}

/** The discovery document of a provider. Refuses with `provider_unavailable` or `provider_mismatch` what cannot be used. */
const discover = async (
  settings: Discovery,
  call: ProviderFetch,
  endpoints: readonly string[],
): Promise<ServerMetadata> => {
  const at = documentAt(settings)
  const place = placeOf(DISCOVERY, at.href)
  try {
    const found = await discovery(at, settings.clientId, undefined, None(), {
      // Looked at before the library does, which lets the template issuers of two well-known hosts pass.
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

/** The algorithms that something of a provider may be signed with: those of its document that are taken; without a list, all. */
export const algorithmsOf = (listed: unknown): string[] =>
  ALGORITHMS.filter((algorithm) => !Array.isArray(listed) || listed.includes(algorithm))

/** A document and a key set are held so long. */
export const DOCUMENT_LIFE_MS = 3_600_000
const KEYS_LIFE_MS = 300_000

export type KeySet = { readonly keys: object[] }

/** The keys at an address. Refuses what is no key set. */
const keySet = async (address: string, call: ProviderFetch): Promise<KeySet> => {
  const place = placeOf('keys', address)
  const set = await jsonOf(await call(place.step, address, { method: 'GET', headers: { accept: KEY_SET } }), place)
  return isObject(set) && Array.isArray(set['keys']) && set['keys'].every(isObject)
    ? { keys: set['keys'] }
    : unusable(place, 'key set without keys')
}

/** What is known of a provider: its document, and the keys at the address that this one names. */
export type Known = { readonly metadata: ServerMetadata; readonly keys: Cached<KeySet> }

/** Reads the document of a provider, which must name these endpoints beside those of every login; the keys when they are asked for. */
export const known = async (settings: Discovery, call: ProviderFetch, endpoints: readonly string[]): Promise<Known> => {
  const metadata = await discover(settings, call, endpoints)
  const { now } = settings.clock
  return { metadata, keys: cached(() => keySet(metadata.jwks_uri!, call), { life: KEYS_LIFE_MS, now }) }
}

/**
 * What is known of a provider after a login failed at its end, where a code can be shown anew: it has other endpoints now.
 * Rejects with the failure where it has not, and with both where it cannot be asked.
 */
export const movedTo = async (before: Known, failure: unknown, again: () => Promise<Known>): Promise<Known> => {
  const isOfProvider = isRefusal(failure, 'provider_unavailable') || isRefusal(failure, 'provider_mismatch')
  // A token that does not hold may be signed in a new way, which the next login then knows of; the code of this one is used up.
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
