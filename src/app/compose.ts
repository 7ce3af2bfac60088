import type { Clock } from '../base/clock.ts'
import type { Tracer } from '../base/tracing.ts'
import { version } from '../base/version.ts'
import type { Config } from '../config/load.ts'
import type { Service } from '../http/services/service.ts'
import type { Progress } from '../projections/engine/rebuild.ts'
import { accessOf } from './access-policy.ts'
import { asOfReaderOf } from './as-of-thread/as-of-reads.ts'
import { bootstrap } from './bootstrap.ts'
import { clusterMember } from './cluster-member.ts'
import { type Core, coreOf } from './core.ts'
import { eraseAgain } from './erasures.ts'
import { followedModelsOf } from './history/read-models.ts'
import { ledgerServiceOf } from './ledger/services.ts'
import { presenceOf, type StopCause } from './lifecycle/presence.ts'
import { sweepOf } from './reapply-rules.ts'
import { scheduleJobs } from './schedule-jobs.ts'
import { serviceOf } from './service.ts'
import { viewRenewal } from './stores/renewal.ts'
import type { Stores } from './stores/stores.ts'
import { recordLogIdentity, verify } from './stores/verify-log-and-views.ts'
import type { Fatal } from './telemetry/fatal.ts'
import type { Logger } from './telemetry/logger.ts'
import { tellMissingPlaces } from './telemetry/missing-places.ts'
import { progressLines } from './telemetry/progress-lines.ts'
import { tracedExecute, tracedWaits } from './telemetry/traced-commands.ts'
import { tracedStores } from './telemetry/traced-stores.ts'
import { addSpanCounts } from './telemetry/tracing.ts'

/** The composed service before its start. */
export type Composed = {
  readonly service: Service
  /**
   * Fills memory, creates the initial documents, and starts the jobs. After an abort the start stops at the next page.
   */
  readonly begin: (ending?: AbortSignal) => Promise<void>
  /** Rebuilds read models that were found damaged. */
  readonly renew: (error: Error) => void
  /** Makes the instance report itself as not ready. */
  readonly drain: () => void
  readonly close: (cause: StopCause) => Promise<void>
}

type CoreParts = Parameters<typeof coreOf>

/** Creates the core. With a tracer, the calls of its stores, its commands and its waits have spans. */
const tracedCoreOf = ([config, opened, ...others]: CoreParts, tracer: Tracer | undefined): Core => {
  const core = coreOf(config, tracer ? tracedStores(opened, tracer) : opened, ...others)
  addSpanCounts(core.metrics, tracer)
  if (!tracer) return core
  return { ...core, tracer, execute: tracedExecute(core.execute, tracer), follower: tracedWaits(core.follower, tracer) }
}

/** Composes the service over its stores. */
export const compose = async (
  config: Config,
  opened: Stores,
  logger: Logger,
  clock: Clock,
  fatal: Fatal,
  tracer?: Tracer,
): Promise<Composed> => {
  const core = tracedCoreOf([config, opened, logger, clock, fatal], tracer)
  const { follower, guard, indexer, lease, snapshots, log, stores, time } = core
  const onError = core.onError('the list of running instances in the event log cannot be updated')
  const member = lease && clusterMember({ ...core, version, fresh: lease.fresh, logger, onError })
  let draining = false
  const past = asOfReaderOf(core)
  const access = accessOf(config, core, logger)
  const ledger = await ledgerServiceOf(config, core, logger)
  const service = await serviceOf(config, core, { logger, past, ledger, draining: () => draining, policy: access })
  const sweep = sweepOf(service, core, logger)
  const presence = presenceOf(config, core, service.about, logger)
  const { renewal } = opened
  const models = followedModelsOf(stores.pepper.key)
  const renewed = renewal && viewRenewal({ ...core, views: stores.views, models, renewal, logger, fatal })
  return {
    service,
    begin: async (ending) => {
      await time.begin(log)
      const tell = progressLines(logger, clock)
      const onProgress = (progress: Progress) => {
        ending?.throwIfAborted()
        tell(progress)
      }
      const rebuilt = await verify(clock, stores, logger, onProgress)
      if (rebuilt) await stores.snapshots.remove()
      const known = config.eventstore.all_on_roll || (await log.first()) === undefined
      snapshots.begin(await follower.start(onProgress))
      await eraseAgain(core, logger)
      await member?.join(known)
      const token = await bootstrap({ ...service, config })
      if (token !== undefined)
        logger.child({}, { level: 'info' }).info({ client_token: token }, 'bootstrap token created; shown only once')
      await access.begin()
      await recordLogIdentity(stores)
      if (rebuilt) await presence.rebuilt(rebuilt)
      await scheduleJobs(config, core, service, logger)
      tellMissingPlaces(service.settings.access, (key) => core.flagStore.life(key) !== undefined, logger)
      await lease?.prove()
      // A start that fails before this point leaves no event, because it may be repeated every second.
      await presence.start()
      sweep?.begin()
      await ledger.begin()
      indexer.start()
      if (lease) stores.writesWhile(() => lease.fresh() && follower.viewsAdvance())
    },
    renew: (error) => renewed?.met(error),
    drain: () => {
      draining = true
      for (const streams of [service.flagStreams, service.historyStreams]) streams.end()
    },
    close: async (cause) => {
      await renewed?.close()
      await sweep?.close()
      await past.close()
      await service.refusals.close()
      await Promise.all([service.uses.close(), service.evaluations.close()])
      await service.historyReads.close()
      // A running job may wait for the views, so the log is followed until the queue is closed.
      await stores.queue.close()
      await presence.stop(cause)
      await ledger.close()
      await member?.leave()
      await guard?.close()
      await indexer.close()
      await follower.close()
      await snapshots.end()
      await lease?.close()
      await stores.close()
    },
  }
}
