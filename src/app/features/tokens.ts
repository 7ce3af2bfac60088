import { WAIT_MS } from '../../as-of/reads.ts'
import { digester, fingerprinter, plausible, tokenSecrets } from '../../auth/client-token.ts'
import { isRefusal } from '../../base/errors.ts'
import { idFrom, SYSTEM } from '../../commands/envelope.ts'
import { namespace } from '../../commands/namespace.ts'
import type { Config } from '../../config/load.ts'
import { METHODS } from '../../events/token.ts'
import { formerTokens } from '../../http/auth/former-tokens.ts'
import { type Issuer, issueToken } from '../../http/auth/issue-token.ts'
import { staticToken } from '../../http/auth/requested-access.ts'
import { tokenVerifier } from '../../http/auth/token-verifier.ts'
import { waitForTokenView } from '../../http/lists/wait-for-token-view.ts'
import { streamTickets } from '../../http/streams/tickets.ts'
import { cleanup } from '../../jobs/cleanup.ts'
import { lastUses } from '../../jobs/last-uses.ts'
import type { Job } from '../../jobs/queue.ts'
import type { Core } from '../core/core.ts'

type Bootstrap = Issuer & {
  readonly config: Config
  /** Contains all events that were in the log at the start. */
  readonly flagStore: { readonly life: (namespace: string) => string | undefined }
}

/**
 * Id of the bootstrap token. A fixed id makes a second bootstrap token impossible, because its stream would already
 * exist (api.md §6.3).
 */
const BOOTSTRAP_ID = idFrom('rollcall', 'initial_bootstrap_token')

/** Returns the result of the work, or undefined if its document already exists. */
const unlessThere = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    // An unreadable document exists.
    if (isRefusal(error, 'not_unique') || isRefusal(error, 'event_unreadable')) return undefined
    throw error
  }
}

/** Creates the namespace `default` if it does not exist. */
export const createDefaultNamespace = async ({
  execute,
  applied,
}: Pick<Issuer, 'execute' | 'applied'>): Promise<void> => {
  const incarnation = idFrom('rollcall', 'default')
  const data = { key: 'default', incarnation, name: 'Default', description: 'Default namespace', protected: true }
  await unlessThere(async () => applied((await execute(namespace, 'default', 'CreateNamespace', data, SYSTEM)).stored))
}

const createBootstrapToken = async ({ config, ...issuer }: Issuer & Pick<Bootstrap, 'config'>) => {
  const { token: clientToken, expiration, metadata } = config.authentication.methods.token.bootstrap
  const asked = staticToken(
    {
      name: 'initial_bootstrap_token',
      description: 'Initial token created when bootstrapping authentication',
      expiresAt: expiration === undefined ? undefined : new Date(issuer.now().getTime() + expiration).toISOString(),
      namespaceKey: '',
      metadata: { ...metadata },
      role: undefined,
      grants: undefined,
    },
    {},
  )
  return unlessThere(() => issueToken(issuer, { ...asked, id: BOOTSTRAP_ID, clientToken, bootstrap: true }, SYSTEM))
}

/**
 * Creates the namespace `default` and the bootstrap token. Returns the token if this call generated it, because it is
 * shown only once.
 */
const bootstrap = async (options: Bootstrap): Promise<string | undefined> => {
  if (options.flagStore.life('default') === undefined) await createDefaultNamespace(options)
  const { enabled, bootstrap } = options.config.authentication.methods.token
  const made = enabled ? await createBootstrapToken(options) : undefined
  return bootstrap.token === undefined ? made?.clientToken : undefined
}

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
