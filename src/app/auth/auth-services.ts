import { WAIT_MS } from '../../as-of/view-behind.ts'
import { digester, fingerprinter, plausible, tokenSecrets } from '../../auth/client-token.ts'
import { accessPolicy } from '../../config/checks/access-rules.ts'
import type { Config } from '../../config/load.ts'
import { formerTokens } from '../../http/auth/former-tokens.ts'
import { tokenHolders } from '../../http/auth/token-holders.ts'
import { tokenVerifier } from '../../http/auth/token-verifier.ts'
import { narrowing } from '../../http/login/narrowing.ts'
import type { Service } from '../../http/services/service.ts'
import { streamTickets } from '../../http/streams/tickets.ts'
import type { Core } from '../core.ts'
import { exchangeOf, loginMethods } from './login-methods.ts'
import { logoutServicesOf } from './logouts.ts'

/** Maximum failed exchanges per client address and minute. */
const FAILED_EXCHANGES_A_MINUTE = 60

/** Creates the services that verify tokens and issue them to logins and exchanges. */
export const authServicesOf = async (config: Config, core: Core, { policy }: Pick<Service, 'policy'>) => {
  const { clock, faults, onError, names, stores, time, log, seal, index, execute, follower, lease, erasures, tracer } =
    core
  const { views, pepper, limiter } = stores
  const digest = digester(pepper)
  const { methods } = config.authentication
  const { exchanges } = config.rate_limit
  const logins = await loginMethods(config, names, stores, { faults, clock, tracer }, erasures.subjects)
  const orchestrator = await exchangeOf(config, faults, clock, tracer)
  const verifier = tokenVerifier({
    index,
    digest,
    plausible,
    log,
    views,
    now: time.present,
    alone: lease === undefined,
    newest: () => lease?.newest(WAIT_MS) ?? log.head(),
    seen: follower.seen,
    viewsReached: follower.viewsReached,
  })
  return {
    verifier,
    tickets: streamTickets(pepper.key, time.present),
    formerTokens: formerTokens({
      idBefore: verifier.idBefore,
      digest,
      plausible,
      log,
      views,
      clock,
      onError: onError('the token of a refused request cannot be looked up in the event log'),
    }),
    tokenStanding: index.standing,
    holderOf: tokenHolders(views),
    policy,
    narrow: narrowing({
      log,
      sealer: seal,
      execute,
      applied: follower.applied,
      access: accessPolicy(config),
      number: policy.number,
    }),
    secrets: tokenSecrets(pepper),
    fingerprints: fingerprinter(pepper),
    logins,
    logouts: logoutServicesOf(core, logins.pseudonyms),
    exchange: orchestrator && {
      orchestrator,
      failures: limiter('exchanges', FAILED_EXCHANGES_A_MINUTE),
      successes: exchanges > 0 ? limiter('accounts', exchanges) : undefined,
    },
    methods: {
      ...methods,
      oidc: {
        ...methods.oidc,
        providers: Array.from(methods.oidc.providers, ([key, { display_name: name }]) => ({ key, name })),
      },
    },
  }
}
