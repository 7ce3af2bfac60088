import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import { Refusal } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'
import { reader } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import { type LogoutEvent, logoutEvents } from '../../events/login.ts'
import { readEvent } from '../../events/unreadable.ts'
import type { History } from '../../history/history.ts'
import { waitForTokenView } from '../../http/lists/wait-for-token-view.ts'
import { DEADLINE_MS } from '../../http/login/end-at-provider.ts'
import { providerLogouts } from '../../http/login/provider-logouts.ts'
import type { ReportedLogouts } from '../../http/services/logins.ts'
import { unfinishedLogouts } from '../../jobs/provider-logouts.ts'
import type { Job } from '../../jobs/queue.ts'
import { tokens } from '../../projections/tokens.ts'
import type { EventFilter } from '../../verifier/export/filter.ts'
import type { Core } from '../core/core.ts'

/** Maximum refused logout tokens per client address and minute. */
const FAILED_LOGOUTS_A_MINUTE = 60
/** Maximum logout tokens in work, and in the queue, at the same time. */
const [RUNNING, WAITING] = [16, 1_000]

const readLogout = reader(logoutEvents)

/** Logouts that OpenID Connect providers report. */
export const reportedLogouts = (core: Core, pseudonyms: Pseudonyms): ReportedLogouts => ({
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

/** The job that finishes interrupted logouts. */
export const interruptedLogouts = (core: Core, history: History, { resume }: ReportedLogouts): Job =>
  unfinishedLogouts({
    received: (since, signal) => receivedSince(history, since, signal),
    resume: async (event) => {
      const { type, data }: LogoutEvent = readEvent(readLogout, event)
      if (type === 'ProviderLogoutReceived') await resume(data, event)
    },
    sessionLife: core.config.authentication.session.token_lifetime,
    now: core.now,
  })
