import { refuse } from '../../base/errors.ts'
import { type ClusterSettings, cluster } from './cluster.ts'
import { type Account, type Allowed, isAllowed, presented, type ServiceAccount } from './service-account.ts'

export type OrchestratorSettings = ClusterSettings & {
  readonly verification: 'token_review' | 'jwks'
  /** Accepted audiences of a token; empty: any. */
  readonly audiences: readonly string[]
  /** Issuers accepted in addition to the cluster's, with verification by `jwks`. */
  readonly issuers: readonly string[]
  /** Maximum lifetime in ms of a token from an exchange; undefined: that of the presented token. */
  readonly maxLifetime: number | undefined
  readonly allowed: Allowed
}

export type Orchestrator = {
  /**
   * Verifies a token and returns its service account. Callers are queued by `address`. Failures are refused as listed
   * in api.md §5.7. If the account is not allowed, the `metadata` of the refusal name the account.
   */
  readonly verify: (token: string, address: string) => Promise<ServiceAccount>
}

type Confirm = (token: string, claims: Account, address: string) => Promise<Account>

/**
 * Verifies service-account tokens of a cluster (api.md §5.7). The first call to the cluster happens at the first
 * exchange. The Kubernetes library is loaded at start because loading takes 0.5 s and 100 MB and blocks the event loop.
 */
export const orchestrator = async (settings: OrchestratorSettings): Promise<Orchestrator> => {
  const { discoveryUrl, audiences, issuers, maxLifetime = Number.POSITIVE_INFINITY, allowed, clock } = settings
  const call = cluster(settings)
  const confirmers: Readonly<Record<OrchestratorSettings['verification'], () => Promise<Confirm>>> = {
    token_review: async () => (await import('./token-review.ts')).tokenReview(call, { discoveryUrl, audiences, clock }),
    jwks: async () =>
      (await import('./cluster-keys.ts')).clusterKeys(call, { discoveryUrl, audiences, issuers, now: clock.now }),
  }
  const confirm = await confirmers[settings.verification]()

  return {
    verify: async (given, address) => {
      const token = given.trim()
      const claims = presented(token, clock.now())
      const account = await confirm(token, claims, address)
      const { namespace, name } = account
      if (!isAllowed(allowed, account))
        return refuse('service_account_not_allowed', undefined, { metadata: { namespace, name } })
      const latest = clock.now().getTime() + maxLifetime
      return { ...account, expiresAt: claims.expiresAt.getTime() <= latest ? claims.expiresAt : new Date(latest) }
    },
  }
}
