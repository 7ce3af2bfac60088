import { isGoverned } from '../../access/rules.ts'
import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import { Refusal } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'
import { reader } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import { type LogoutEvent, logoutEvents } from '../../events/login.ts'
import { readEvent } from '../../events/unreadable.ts'
import type { History } from '../../history/history.ts'
import { reachAuthorizedNow } from '../../http/auth/reach-now.ts'
import { waitForTokenView } from '../../http/lists/wait-for-token-view.ts'
import { DEADLINE_MS } from '../../http/login/end-at-provider.ts'
import { narrowing } from '../../http/login/narrowing.ts'
import { providerLogouts } from '../../http/login/provider-logouts.ts'
import type { AuthServices } from '../../http/services/auth.ts'
import type { LoginServices, ReportedLogouts } from '../../http/services/logins.ts'
import type { Idempotency } from '../../http/steps/idempotency.ts'
import { cookieJar } from '../../http/wire/cookies.ts'
import { unfinishedLogouts } from '../../jobs/provider-logouts.ts'
import type { Job } from '../../jobs/queue.ts'
import { reapplyRulesSweep } from '../../jobs/reapply-rules.ts'
import { refusalHistory } from '../../jobs/refusals.ts'
import { tokens } from '../../projections/tokens.ts'
import type { EventFilter } from '../../verifier/export/filter.ts'
import { exchangeOf, loginMethods } from '../auth/login-methods.ts'
import type { Core } from '../core/core.ts'
import { accessOf, tellMissingPlaces } from './access-policy.ts'
import { wholeTokenView } from './tokens.ts'

/** Maximum refused logout tokens per client address and minute. */
const FAILED_LOGOUTS_A_MINUTE = 60
/** Maximum logout tokens in work, and in the queue, at the same time. */
const [RUNNING, WAITING] = [16, 1_000]

const readLogout = reader(logoutEvents)

const reportedLogouts = (core: Core, pseudonyms: Pseudonyms): ReportedLogouts => ({
  ...providerLogouts({
    ...core,
    complete: () => waitForTokenView(core),
    unreadable: () => core.closed.all(tokens.category),
    pseudonyms,
  }),
  failures: core.stores.limiter('logouts', FAILED_LOGOUTS_A_MINUTE),
  gate: fairGate({
    total: RUNNING,
    waiting: WAITING,
    within: { clock: core.clock, ms: DEADLINE_MS },
    refused: () => new Refusal('busy'),
  }),
})

/** The accepted logout tokens since a time. The search ends early after an abort. */
async function* receivedSince(history: History, since: string, signal: AbortSignal): AsyncGenerator<Stored> {
  const filter: EventFilter = { type: { any: ['ProviderLogoutReceived'], none: [] }, from: since }
  const range = await history.range(filter, {}, await history.head())
  for await (const steps of history.exported(filter, range, signal))
    for (const { event } of steps) if (event) yield event.record
}

const interruptedLogouts = (core: Core, history: History, { resume }: ReportedLogouts): Job =>
  unfinishedLogouts({
    received: (since, signal) => receivedSince(history, since, signal),
    resume: async (event) => {
      const { type, data }: LogoutEvent = readEvent(readLogout, event)
      if (type === 'ProviderLogoutReceived') await resume(data, event)
    },
    sessionLife: core.config.authentication.session.token_lifetime,
    now: core.now,
  })

/** Maximum failed exchanges per client address and minute. */
const FAILED_EXCHANGES_A_MINUTE = 60

/** Creates the job that applies the current access rules to existing unused tokens; undefined without rules. */
export const sweepOf = (core: Core, policy: LoginServices['policy']) =>
  !isGoverned(core.settings.access)
    ? undefined
    : reapplyRulesSweep({
        views: core.views,
        policy: policy.number,
        narrow: policy.narrow,
        complete: wholeTokenView(core),
        clock: core.clock,
        now: core.now,
        onDone: ({ narrowed, ended }) =>
          core.logger.info(
            { narrowed, ended },
            'all tokens of earlier logins and exchanges now have only the access that the current access rules give',
          ),
        onError: core.onError(
          'the current access rules cannot be applied to all existing logins and exchanges; the service tries again',
        ),
      })

type Needs = Pick<Idempotency, 'once'> & Pick<AuthServices, 'verifier'> & { readonly history: History }

/** Logins, exchanges and sessions, and the access rules that apply to them. */
export const loginsOf = async (core: Core, { once, verifier, history }: Needs) => {
  const { config, settings, names, clock, stores, erasures, execute, fresh, logger } = core
  const { methods } = config.authentication
  const { exchanges } = config.rate_limit
  const { number, known, begin } = accessOf(core)
  const narrow = narrowing({ ...core, access: settings.access, number })
  const policy = { number, known, narrow }
  const found = await loginMethods(config, names, stores, core, erasures.subjects)
  const orchestrator = await exchangeOf(config, core.faults, clock, core.tracer)
  const reported = reportedLogouts(core, found.pseudonyms)
  const logins = {
    ...found,
    reported,
    methods: {
      ...methods,
      oidc: {
        ...methods.oidc,
        providers: Array.from(methods.oidc.providers, ([key, { display_name: name }]) => ({ key, name })),
      },
    },
  }
  const refusals = refusalHistory(execute, clock, core.onError('refused requests cannot be recorded'))
  const sweep = sweepOf(core, policy)
  return {
    services: {
      logins,
      cookies: cookieJar({
        ...settings,
        ...settings.session,
        tokenName: names.tokenCookie,
        stateName: names.stateCookie,
        clock,
      }),
      policy,
      refusals,
      exchange: orchestrator && {
        orchestrator,
        once,
        failures: stores.limiter('exchanges', FAILED_EXCHANGES_A_MINUTE),
        successes: exchanges > 0 ? stores.limiter('accounts', exchanges) : undefined,
      },
      reachNow: reachAuthorizedNow({ ...core, verifier, logins, fresh }),
    },
    jobs: methods.oidc.enabled ? [interruptedLogouts(core, history, reported)] : [],
    begin: async (): Promise<void> => {
      await begin()
      tellMissingPlaces(settings.access, (key) => core.flagStore.life(key) !== undefined, logger)
    },
    start: () => sweep?.begin(),
    close: async (): Promise<void> => {
      await sweep?.close()
      await refusals.close()
    },
  }
}
