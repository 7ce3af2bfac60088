import { allowInsecureRequests, customFetch, discovery, None, type ServerMetadata } from 'openid-client'
import { KEY_SET } from './media-types.ts'
import { isObject, jsonOf, type ProviderFetch, unavailable } from './provider-fetch.ts'

/** Asymmetric algorithms that the library checks. Never taken: `none`, and those by a secret that we share. */
const ALGORITHMS = ['RS', 'PS', 'ES']
  .flatMap((kind) => [256, 384, 512].map((bits) => `${kind}${bits}`))
  .concat('EdDSA', 'Ed25519')

/** The discovery document of a provider. Refuses with `provider_unavailable` what cannot be used. */
export const discover = async (issuerUrl: string, clientId: string, call: ProviderFetch): Promise<ServerMetadata> => {
  const issuer = new URL(issuerUrl)
  const execute = issuer.protocol === 'http:' ? [allowInsecureRequests] : []
  try {
    const found = await discovery(issuer, clientId, undefined, None(), { [customFetch]: call, execute })
    const { ...metadata } = found.serverMetadata()
    // The library lets the template issuers of two well-known hosts pass.
    if (new URL(metadata.issuer).href !== issuer.href) return unavailable('document of another issuer')
    for (const endpoint of [metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri])
      if (
        typeof endpoint !== 'string' ||
        !URL.canParse(endpoint) ||
        !['https:', issuer.protocol].includes(new URL(endpoint).protocol)
      )
        return unavailable('document without a usable endpoint')
    if (algorithmsOf(metadata).length === 0) return unavailable('document without an algorithm that is taken')
    return metadata
  } catch (error) {
    return unavailable(error)
  }
}

/** The algorithms that ID tokens of a provider may be signed with: those of its document that are taken; without a list, all. */
export const algorithmsOf = ({ id_token_signing_alg_values_supported: listed }: ServerMetadata): string[] =>
  ALGORITHMS.filter((algorithm) => !Array.isArray(listed) || listed.includes(algorithm))

type KeySet = { readonly keys: object[] }

/** The keys at an address. Refuses with `provider_unavailable` what is no key set. */
export const keySet = async (address: string, call: ProviderFetch): Promise<KeySet> => {
  const set = await jsonOf(await call(address, { method: 'GET', headers: { accept: KEY_SET } }))
  return isObject(set) && Array.isArray(set['keys']) && set['keys'].every(isObject)
    ? { keys: set['keys'] }
    : unavailable('key set without keys')
}
