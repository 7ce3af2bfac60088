import { allowInsecureRequests, customFetch, discovery, None, type ServerMetadata } from 'openid-client'
import { isRefusal, whyOf } from '../errors.ts'
import { providerErrorOf } from './callback.ts'
import { type Cached, cached } from './cached.ts'
import { KEY_SET } from './media-types.ts'
import { isObject, jsonOf, type ProviderFetch, unavailable } from './provider-fetch.ts'

/** Asymmetric algorithms that the library checks. Never taken: `none`, and those by a secret that we share. */
const ALGORITHMS = ['RS', 'PS', 'ES']
  .flatMap((kind) => [256, 384, 512].map((bits) => `${kind}${bits}`))
  .concat('EdDSA', 'Ed25519')

/** The discovery document of a provider. Refuses with `provider_unavailable` what cannot be used. */
const discover = async (
  issuerUrl: string,
  clientId: string,
  call: ProviderFetch,
  endpoints: readonly string[],
): Promise<ServerMetadata> => {
  const issuer = new URL(issuerUrl)
  const execute = issuer.protocol === 'http:' ? [allowInsecureRequests] : []
  try {
    const found = await discovery(issuer, clientId, undefined, None(), { [customFetch]: call, execute })
    const { ...metadata } = found.serverMetadata()
    // The library lets the template issuers of two well-known hosts pass.
    if (new URL(metadata.issuer).href !== issuer.href) return unavailable('document of another issuer')
    for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', ...endpoints]) {
      const endpoint = metadata[name]
      if (
        typeof endpoint !== 'string' ||
        !URL.canParse(endpoint) ||
        !['https:', issuer.protocol].includes(new URL(endpoint).protocol)
      )
        return unavailable(`document without a usable ${name}`)
    }
    if (algorithmsOf(metadata.id_token_signing_alg_values_supported).length === 0)
      return unavailable('document without an algorithm that is taken')
    return metadata
  } catch (error) {
    return unavailable(error)
  }
}

/** The algorithms that something of a provider may be signed with: those of its document that are taken; without a list, all. */
export const algorithmsOf = (listed: unknown): string[] =>
  ALGORITHMS.filter((algorithm) => !Array.isArray(listed) || listed.includes(algorithm))

/** A document and a key set are held so long. */
export const DOCUMENT_LIFE_MS = 3_600_000
const KEYS_LIFE_MS = 300_000

export type KeySet = { readonly keys: object[] }

/** The keys at an address. Refuses with `provider_unavailable` what is no key set. */
const keySet = async (address: string, call: ProviderFetch): Promise<KeySet> => {
  const set = await jsonOf(await call(address, { method: 'GET', headers: { accept: KEY_SET } }))
  return isObject(set) && Array.isArray(set['keys']) && set['keys'].every(isObject)
    ? { keys: set['keys'] }
    : unavailable('key set without keys')
}

/** What is known of a provider: its document, and the keys at the address that this one names. */
export type Known = { readonly metadata: ServerMetadata; readonly keys: Cached<KeySet> }

/** Reads the document of a provider, which must name these endpoints beside those of every login; the keys when they are asked for. */
export const known = async (
  issuerUrl: string,
  clientId: string,
  call: ProviderFetch,
  now: () => Date,
  endpoints: readonly string[],
): Promise<Known> => {
  const metadata = await discover(issuerUrl, clientId, call, endpoints)
  return { metadata, keys: cached(() => keySet(metadata.jwks_uri!, call), { life: KEYS_LIFE_MS, now }) }
}

/**
 * What is known of a provider after a login failed at its end, where a code can be shown anew: it has other endpoints now.
 * Rejects with the failure where it has not, and with both where it cannot be asked.
 */
export const movedTo = async (before: Known, failure: unknown, again: () => Promise<Known>): Promise<Known> => {
  const isOfProvider = isRefusal(failure, 'provider_unavailable')
  // A token that does not hold may be signed in a new way, which the next login then knows of; the code of this one is used up.
  if (!isOfProvider && !isRefusal(failure, 'id_token_invalid')) throw failure
  let newer: Known
  try {
    newer = await again()
  } catch (error) {
    if (error === failure) throw failure
    return unavailable(`${whyOf(failure)}; discovery, read again: ${whyOf(error)}`, providerErrorOf(failure))
  }
  const moving = ['token_endpoint', 'jwks_uri', 'userinfo_endpoint'] as const
  const same = moving.every((name) => newer.metadata[name] === before.metadata[name])
  if (!isOfProvider || same) throw failure
  return newer
}
