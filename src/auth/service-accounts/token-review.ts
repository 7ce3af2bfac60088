import { createHash } from 'node:crypto'
import {
  AuthenticationV1Api,
  createConfiguration,
  ResponseContext,
  ServerConfiguration,
  type V1TokenReview,
  wrapHttpLibrary,
} from '@kubernetes/client-node'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { isRefusal, Refusal } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'
import { providerSays } from '../safe-cause.ts'
import { type Cluster, clusterUnavailable } from './cluster.ts'
import { type Account, accountDetails, accountNamed, agree, refuseToken } from './service-account.ts'

const DEADLINE_MS = 2000
/**
 * Maximum time in ms that an exchange waits in the queue. A wait that is too long does not count as a timeout of the
 * cluster.
 */
const WAIT_MS = 5000
const REFUSED_LIFE_MS = 10_000
const REFUSED_LIMIT = 10_000
const REFUSED_BEFORE = 'the cluster refused the same token less than 10 s ago; the line of that refusal has its reason'
const EXTRA = 'authentication.kubernetes.io/'
const tooMany = new Refusal('orchestrator_unavailable', undefined, {
  headers: { 'retry-after': '1' },
  cause: new Error(
    'too many token exchanges run at once: the queue for TokenReview is full, or the wait took more than 5 s',
  ),
})

type Settings = { readonly discoveryUrl: string; readonly audiences: readonly string[]; readonly clock: Clock }

/**
 * Verifies a token by a TokenReview at the API server. A refusal is cached for 10 s, so a repeated bad token causes no
 * load at the cluster. An approval is never cached, so a revocation takes effect immediately.
 */
export const tokenReview = (call: Cluster, { discoveryUrl, audiences, clock }: Settings) => {
  const gate = fairGate({ total: 10, waiting: 1000, refused: () => tooMany })
  /** Digests of tokens that the cluster refused. */
  const refused = new LRUCache<string, true>({
    max: REFUSED_LIMIT,
    ttl: REFUSED_LIFE_MS,
    ttlResolution: 0,
    perf: { now: () => clock.now().getTime() },
  })

  const confirm = async (token: string, claims: Account, signal: AbortSignal): Promise<Account> => {
    const review = await ask(call, discoveryUrl, signal, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audiences.length > 0 ? { audiences: [...audiences] } : {}) },
    })
    return confirmed(review, claims, audiences, token)
  }

  return async (token: string, claims: Account, address: string): Promise<Account> => {
    const digest = createHash('sha256').update(token).digest('base64')
    if (refused.has(digest)) return refuseToken(undefined, new Error(REFUSED_BEFORE))
    try {
      const review = () => confirm(token, claims, clock.timeout(DEADLINE_MS))
      return await gate.run(review, { holder: address }, clock.timeout(WAIT_MS))
    } catch (error) {
      if (isRefusal(error, 'service_account_token_invalid')) refused.set(digest, true)
      throw error
    }
  }
}

const ask = async (
  call: Cluster,
  discoveryUrl: string,
  signal: AbortSignal,
  body: V1TokenReview,
): Promise<V1TokenReview> => {
  const api = new AuthenticationV1Api(
    createConfiguration({
      baseServer: new ServerConfiguration(discoveryUrl.replace(/\/+$/, ''), {}),
      // The library's own transport has no timeout and follows redirects with the token.
      httpApi: wrapHttpLibrary({
        send: async (request) => {
          const answer = await call({
            url: request.getUrl(),
            method: 'POST',
            bearer: 'needed',
            headers: request.getHeaders(),
            // The library sends JSON text only.
            body: request.getBody() as string,
            signal,
          })
          // The library's exceptions quote the body of an unknown answer.
          if (answer.status < 200 || answer.status > 299)
            return clusterUnavailable(`TokenReview answered with status ${answer.status}`)
          const bytes = async () => Buffer.from(answer.body)
          return new ResponseContext(answer.status, answer.headers, {
            text: async () => answer.body,
            binary: bytes,
            stream: () => null,
          })
        },
      }),
    }),
  )
  try {
    return await api.createTokenReview({ body })
  } catch (error) {
    return clusterUnavailable(error)
  }
}

const confirmed = (
  { status }: V1TokenReview,
  claims: Account,
  audiences: readonly string[],
  token: string,
): Account => {
  if (typeof status !== 'object' || status === null) return clusterUnavailable('TokenReview without a status')
  const { authenticated, user, audiences: accepted } = status
  if (authenticated !== true) {
    const reason = providerSays(status.error, [token]) ?? 'without a reason'
    return refuseToken(undefined, new Error(`the cluster refused the token in its TokenReview: ${reason}`))
  }
  if (audiences.length > 0 && !(Array.isArray(accepted) && accepted.some((audience) => audiences.includes(audience))))
    return refuseToken('token is not meant for this service')
  const account = accountNamed(user?.username) ?? refuseToken('token is not of a service account')
  const reviewed = {
    ...account,
    ...accountDetails({
      uid: user?.uid,
      podName: user?.extra?.[`${EXTRA}pod-name`]?.[0],
      podUid: user?.extra?.[`${EXTRA}pod-uid`]?.[0],
      credentialId: user?.extra?.[`${EXTRA}credential-id`]?.[0],
    }),
  }
  return agree(reviewed, claims)
    ? { ...claims, ...reviewed }
    : refuseToken('the TokenReview is for another account than the token')
}
