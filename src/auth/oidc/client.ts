import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  clockSkew,
  clockTolerance,
  enableNonRepudiationChecks,
  None,
  type ServerMetadata,
  setJwksCache,
} from 'openid-client'
import type { ClaimUse } from '../../access/claims.ts'
import { algorithmsOf, type Discovery, type KeySet } from './discovery.ts'

/** openid-client reads keys again only if the given ones are at least this old. */
const KEYS_OLD_S = 60

export type OidcSettings = Discovery & {
  readonly name: string
  /** The secret is absent if the client has none: then `clientAuthentication` is `none`. */
  readonly clientSecret?: string | undefined
  /** Client authentication method; absent: chosen by the discovery document, `basic` first. */
  readonly clientAuthentication?: 'basic' | 'post' | 'none' | undefined
  /** Clock tolerance in ms. */
  readonly clockTolerance: number
  /**
   * External base address. With `callbackPath` appended it is the redirect URI. This address is never taken from a
   * request.
   */
  readonly redirectAddress: string
  readonly callbackPath: string
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
