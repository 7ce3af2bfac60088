import {
  createLocalJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'
import { Refusal } from '../../base/errors.ts'
import { cached } from '../cached.ts'
import { KEY_SET, SIGNATURES } from '../outgoing/authority.ts'
import { safeCause } from '../safe-cause.ts'
import { type Answer, type Cluster, clusterUnavailable, refuseUnavailable } from './cluster.ts'
import { type Account, refuseToken, signedFor } from './service-account.ts'

const LIFE_MS = 600_000
const PAUSE_MS = 30_000
const TOLERANCE_S = 30

type Settings = {
  readonly discoveryUrl: string
  readonly audiences: readonly string[]
  /** Issuers accepted in addition to the issuer that the cluster publishes. */
  readonly issuers: readonly string[]
  readonly now: () => Date
}
type Issuer = { readonly issuer: string; readonly keyOf: JWTVerifyGetKey }

/**
 * Verifies a token with the cluster's public keys, without a call to the cluster. A revoked token stays valid until it
 * expires.
 */
export const clusterKeys = (call: Cluster, { discoveryUrl, audiences, issuers, now }: Settings) => {
  const issuer = cached(() => readIssuer(call, discoveryUrl.replace(/\/+$/, '')), {
    life: LIFE_MS,
    pause: PAUSE_MS,
    now,
  })

  const verify = (token: string, by: Issuer) =>
    payloadOf(token, by.keyOf, {
      issuer: [by.issuer, ...issuers],
      algorithms: [...SIGNATURES],
      clockTolerance: TOLERANCE_S,
      currentDate: now(),
      ...(audiences.length > 0 ? { audience: [...audiences] } : {}),
    })

  return async (token: string): Promise<Account> => {
    const known = await issuer.get()
    let outcome = await verify(token, known)
    if (outcome instanceof errors.JWKSNoMatchingKey || isOfAnotherIssuer(outcome)) {
      const newer = await issuer.again()
      if (newer !== known) outcome = await verify(token, newer)
    }
    if (outcome instanceof Error) return refuseToken(undefined, safeCause(outcome))
    return signedFor(outcome)
  }
}

/** The cluster may have changed its issuer as well as its keys. */
const isOfAnotherIssuer = (outcome: unknown): boolean =>
  outcome instanceof errors.JWTClaimValidationFailed && outcome.claim === 'iss'

const payloadOf = async (
  token: string,
  key: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload | Error> => {
  try {
    return (await jwtVerify(token, key, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return error as Error
    // The token has no key id, or several keys share it.
    for await (const candidate of error) {
      const outcome = await payloadOf(token, async () => candidate, options)
      if (!(outcome instanceof errors.JWSSignatureVerificationFailed)) return outcome
    }
    return new errors.JWSSignatureVerificationFailed()
  }
}

const readIssuer = async (call: Cluster, discoveryUrl: string): Promise<Issuer> => {
  const ask = (url: string, bearer: 'if there' | 'none', accept: string) =>
    call({ url, method: 'GET', bearer, headers: { accept } })
  /** Retries a call that answers 401 or 403 without the bearer token, because the cluster may allow anonymous reads. */
  const get = async (url: string, bearer: 'if there' | 'none', accept: string) => {
    const answer = await ask(url, bearer, accept)
    if (bearer === 'none' || (answer.status !== 401 && answer.status !== 403)) return answer
    const open = await ask(url, 'none', accept)
    return open.status === 200 ? open : answer
  }
  const document = `${discoveryUrl}/.well-known/openid-configuration`
  const { issuer, jwks_uri } = objectOf(await get(document, 'if there', 'application/json'))
  if (typeof issuer !== 'string' || issuer === '' || typeof jwks_uri !== 'string' || !URL.canParse(jwks_uri))
    return clusterUnavailable('document without issuer or key set')

  const [named, own] = [new URL(jwks_uri), new URL(discoveryUrl)]
  // The document often names an API server address that only the cluster's network can resolve. The configured address
  // is therefore tried first. The bearer token is sent to no other origin.
  const here = new URL(named.pathname + named.search, own)
  const elsewhere = named.origin !== own.origin && [own.protocol, 'https:'].includes(named.protocol)
  try {
    return { issuer, keyOf: keysOf(await get(here.href, 'if there', KEY_SET)) }
  } catch (error) {
    if (!elsewhere) throw error
    try {
      return { issuer, keyOf: keysOf(await get(named.href, 'none', KEY_SET)) }
    } catch (second) {
      return noKeySet(error, second)
    }
  }
}

/**
 * Refuses an exchange with the causes of both failed reads. The configured address comes first because the operator can
 * change it.
 */
const noKeySet = (configured: unknown, named: unknown): never => {
  const why = (error: unknown) =>
    error instanceof Refusal && error.cause instanceof Error ? error.cause.message : safeCause(error).message
  const at = `no keys at the configured address: ${why(configured)}; no keys at the address in the discovery document: ${why(named)}`
  return refuseUnavailable(new Error(at))
}

const keysOf = (answer: Answer): JWTVerifyGetKey => {
  const { keys } = objectOf(answer)
  try {
    return createLocalJWKSet({ keys } as Parameters<typeof createLocalJWKSet>[0])
  } catch (error) {
    return clusterUnavailable(error)
  }
}

const objectOf = ({ status, body }: Answer): Readonly<Record<string, unknown>> => {
  if (status !== 200) return clusterUnavailable(`answered with status ${status}`)
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  } catch {
    return clusterUnavailable('answer is not JSON')
  }
  return clusterUnavailable('answer is not a JSON object')
}
