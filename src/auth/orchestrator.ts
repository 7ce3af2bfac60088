import { refuse } from '../errors.ts'
import { type ClusterSettings, cluster } from './cluster.ts'
import { type Account, type Allowed, isAllowed, presented, type ServiceAccount } from './service-account.ts'

export type OrchestratorSettings = ClusterSettings & {
  readonly verification: 'token_review' | 'jwks'
  /** Empty = any. */
  readonly audiences: readonly string[]
  /** Accepted beside the issuer that the cluster names, where signatures are checked here. */
  readonly issuers: readonly string[]
  /** Milliseconds after which a token from an exchange ends, whatever the presented one says; undefined: no limit of ours. */
  readonly maxLifetime: number | undefined
  readonly allowed: Allowed
}

export type Orchestrator = {
  /**
   * Verifies a token and gives its service account. Callers take turns by `address`. Refuses as the table of api.md
   * §5.7 says; where the account is not allowed, `metadata` names it.
   */
  readonly verify: (token: string, address: string) => Promise<ServiceAccount>
}

type Confirm = (token: string, claims: Account, address: string) => Promise<Account>

/**
 * Proof of identity by service-account tokens of a cluster (api.md §5.7). The cluster is first called at the first
 * exchange. Its library takes half a second and a hundred megabytes and blocks the event loop while it loads, so it is
 * loaded here, at the start.
 */
export const orchestrator = async (settings: OrchestratorSettings): Promise<Orchestrator> => {
  const { discoveryUrl, audiences, issuers, maxLifetime = Number.POSITIVE_INFINITY, allowed, clock } = settings
  const call = cluster(settings)
  const ways: Readonly<Record<OrchestratorSettings['verification'], () => Promise<Confirm>>> = {
    token_review: async () => (await import('./token-review.ts')).tokenReview(call, { discoveryUrl, audiences, clock }),
    jwks: async () =>
      (await import('./cluster-keys.ts')).clusterKeys(call, { discoveryUrl, audiences, issuers, now: clock.now }),
  }
  const confirm = await ways[settings.verification]()

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
