import { isGoverned } from '../access/rules.ts'
import { waitForTokenView } from '../http/lists/wait-for-token-view.ts'
import type { Service } from '../http/services/service.ts'
import { reapplyRulesSweep } from '../jobs/reapply-rules.ts'
import type { Core } from './core.ts'
import type { Logger } from './telemetry/logger.ts'

/** Timeout in ms for the views to catch up with the log before a run. After a start the views may lag far behind. */
const VIEWS_MS = 30_000

/** Creates the job that applies the current access rules to existing unused tokens; undefined without rules. */
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
            'all tokens of earlier logins and exchanges now have only the access that the current access rules give',
          ),
        onError: onError(
          'the current access rules cannot be applied to all existing logins and exchanges; the service tries again',
        ),
      })
