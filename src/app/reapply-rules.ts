import { isGoverned } from '../access/rules.ts'
import { waitForTokenView } from '../http/lists/wait-for-token-view.ts'
import type { Service } from '../http/services/service.ts'
import { reapplyRulesSweep } from '../jobs/reapply-rules.ts'
import type { Core } from './core.ts'
import type { Logger } from './telemetry/logger.ts'

/** So long a run waits for the views to hold what is in the log: after a start they may have much to take. */
const VIEWS_MS = 30_000

/** What applies the rules to the tokens of before that nobody uses; undefined where there are none. */
export const sweepOf = (
  { settings: { access }, log, views, viewsReached, policy, narrow, now }: Service,
  { onError, clock }: Pick<Core, 'onError' | 'clock'>,
  logger: Pick<Logger, 'info'>,
) =>
  !isGoverned(access)
    ? undefined
    : reapplyRulesSweep({
        views,
        policy: policy.number,
        narrow,
        complete: () => waitForTokenView({ log, viewsReached }, VIEWS_MS),
        clock,
        now,
        onDone: ({ narrowed, ended }) =>
          logger.info(
            { narrowed, ended },
            'logins and exchanges of before have what the rules of now give, and no more',
          ),
        onError: onError('the rules of now were not applied to all logins and exchanges of before; it is tried again'),
      })
