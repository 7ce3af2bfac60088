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
import type { ClaimUse } from '../access/claims-kept.ts'
import { algorithmsOf, type Discovery, type KeySet } from './oidc-discovery.ts'

/** openid-client asks for keys again only when those it was given are as old as this. */
const KEYS_OLD_S = 60

export type OidcSettings = Discovery & {
  readonly name: string
  /** Absent where our client has none: `clientAuthentication` is `none`. */
  readonly clientSecret?: string | undefined
  /** How our client proves itself; absent: by what discovery names, first in the header. */
  readonly clientAuthentication?: 'basic' | 'post' | 'none' | undefined
  /** Milliseconds that clocks may disagree by. */
  readonly clockTolerance: number
  /** External base address; with `callbackPath` behind it, the redirect URI. Never taken from a request. */
  readonly redirectAddress: string
  readonly callbackPath: string
  readonly scopes: readonly string[]
  /** Where the provider says who somebody is: in the ID token alone, or at its userinfo endpoint too. */
  readonly claims: 'id_token' | 'userinfo'
  /** Further parameters of the authorize address. */
  readonly parameters: Readonly<Record<string, string>>
  /** What rules ask of the claims: of an identity that is larger than what is kept of one, this is. */
  readonly asked: readonly ClaimUse[]
}

/** Our client at a provider, as the library wants it: by its document, and by the keys that are held where signatures are to be checked. */
export const clientAt =
  ({ clientId, clock: { now }, clockTolerance: tolerance }: OidcSettings) =>
  (metadata: ServerMetadata, held?: KeySet) =>
  (authentication: ClientAuth): Configuration => {
    // The library reads the clock of the machine by itself: it is told how far ours is from that.
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
    // Which of them may be asked over plain http was seen when the document was read.
    allowInsecureRequests(config)
    // Without it a signature is not looked at: the library trusts the connection.
    enableNonRepudiationChecks(config)
    // How old keys are, it judges by the clock of the machine too.
    if (held) setJwksCache(config, { jwks: { keys: [...held.keys] }, uat: Math.floor(Date.now() / 1000) - KEYS_OLD_S })
    return config
  }

/** The ways in which our client proves itself, in the order in which they are tried. */
export const authentications = (
  { token_endpoint_auth_methods_supported: listed }: ServerMetadata,
  { clientSecret: secret, clientAuthentication }: OidcSettings,
): readonly ClientAuth[] => {
  if (secret === undefined || clientAuthentication === 'none') return [None()]
  if (clientAuthentication === 'basic') return [ClientSecretBasic(secret)]
  if (clientAuthentication === 'post') return [ClientSecretPost(secret)]
  const ways = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return Array.isArray(listed) && listed.includes('client_secret_post') && !listed.includes('client_secret_basic')
    ? ways.reverse()
    : ways
}

/** Whether the provider names ways for a client to prove itself, and none of those that are known here. */
export const isUnprovable = ({ token_endpoint_auth_methods_supported: listed }: ServerMetadata): boolean =>
  Array.isArray(listed) && !['client_secret_basic', 'client_secret_post', 'none'].some((way) => listed.includes(way))
