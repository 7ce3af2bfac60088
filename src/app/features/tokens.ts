import { WAIT_MS } from '../../as-of/reads.ts'
import { digester, fingerprinter, plausible, tokenSecrets } from '../../auth/client-token.ts'
import { METHODS } from '../../events/token.ts'
import { formerTokens } from '../../http/auth/former-tokens.ts'
import { tokenVerifier } from '../../http/auth/token-verifier.ts'
import { waitForTokenView } from '../../http/lists/wait-for-token-view.ts'
import { streamTickets } from '../../http/streams/tickets.ts'
import { cleanup } from '../../jobs/cleanup.ts'
import { lastUses } from '../../jobs/last-uses.ts'
import type { Job } from '../../jobs/queue.ts'
import type { Core } from '../core/core.ts'
import { bootstrap } from './bootstrap.ts'

/** Maximum requests with an invalid credential per client address and minute. */
const FAILURES_A_MINUTE = 300

/** Timeout in ms for the views to catch up with the log before a run. After a start the views may lag far behind. */
const VIEWS_MS = 30_000

/** Wait of a job until the token view contains all events. */
export const wholeTokenView = (core: Core) => (): Promise<bigint> => waitForTokenView(core, VIEWS_MS)

const CLOCK_JUMPED =
  'this cleanup of expired tokens is skipped, because the clock has jumped by more than an hour; the next cleanup runs as usual, unless the clock jumps again'

/** Cleanups of expired tokens, one for each enabled method. */
export const cleanups = (core: Core): readonly Job[] =>
  METHODS.flatMap((method) => {
    const { enabled, cleanup: times } = core.config.authentication.methods[method]
    if (!enabled) return []
    return cleanup({
      ...core,
      method,
      interval: times.interval,
      gracePeriod: times.grace_period,
      complete: wholeTokenView(core),
      steady: core.time.steady(),
      onDeleted: (of) => void core.metrics.cleaned(of).value++,
      onJump: () => core.logger.warn(CLOCK_JUMPED),
    })
  })

/** Client tokens: their verification, their last uses, the bootstrap token, and the cleanup of expired ones. */
export const tokensOf = (core: Core) => {
  const { settings, clock, logger, onError, views, log, index, lease } = core
  const { pepper, limiter } = core.stores
  const digest = digester(pepper)
  const verifier = tokenVerifier({
    ...core,
    digest,
    plausible,
    newest: () => lease?.newest(WAIT_MS) ?? log.head(),
  })
  const uses = lastUses({
    table: 'token-uses',
    views,
    clock,
    onError: onError('the times at which tokens were last used cannot be stored'),
  })
  const secrets = tokenSecrets(pepper)
  return {
    services: {
      verifier,
      tickets: streamTickets(pepper.key, core.now),
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
      secrets,
      fingerprints: fingerprinter(pepper),
      uses,
      failures: limiter('failures', FAILURES_A_MINUTE),
      clients: settings.rateLimited && settings.clientLimit > 0 ? limiter('clients', settings.clientLimit) : undefined,
    },
    jobs: cleanups(core),
    begin: async (): Promise<void> => {
      const token = await bootstrap({ ...core, secrets })
      if (token !== undefined)
        logger.child({}, { level: 'info' }).info({ client_token: token }, 'bootstrap token created; shown only once')
    },
    close: uses.close,
  }
}
