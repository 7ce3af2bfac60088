import type { Clock } from '../base/clock.ts'
import type { Tracer } from '../base/tracing.ts'
import type { Config } from '../config/load.ts'
import type { Job } from '../jobs/queue.ts'
import { coreOf } from './core/core.ts'
import { erasuresOf } from './features/erasures.ts'
import { flagsOf } from './features/flags.ts'
import { historyOf } from './features/history.ts'
import { instanceOf, membershipOf } from './features/instance.ts'
import { ledgerFeatureOf } from './features/ledger.ts'
import { loginsOf } from './features/logins.ts'
import { tokensOf } from './features/tokens.ts'
import type { StopCause } from './lifecycle/presence.ts'
import { viewRenewal } from './stores/damage.ts'
import { followedModelsOf } from './stores/read-models.ts'
import type { Stores } from './stores/stores.ts'
import type { Fatal } from './telemetry/fatal.ts'
import type { Logger } from './telemetry/logger.ts'

/** A part of the service: its periodic work, and its steps at the start and at the stop of the service. */
type Feature = {
  /** Work of the queue, scheduled after every feature has begun. */
  readonly jobs?: readonly Job[]
  /** Prepares the feature. A failure ends the start, which may be repeated every second. */
  readonly begin?: (ending?: AbortSignal) => Promise<void>
  /** Starts work in the background, after the start of the instance is recorded. */
  readonly start?: () => void | Promise<void>
  /** Ends the streams of the feature, before the last requests are answered. */
  readonly drain?: () => void
  /** Ends the feature, whether or not it has begun. */
  readonly close?: (cause: StopCause) => Promise<unknown>
}

/** The composed service before its start. */
export type Composed = Awaited<ReturnType<typeof compose>>

/** Composes the service over its stores. */
export const compose = async (
  config: Config,
  opened: Stores,
  logger: Logger,
  clock: Clock,
  fatal: Fatal,
  tracer?: Tracer,
) => {
  const core = coreOf(config, opened, logger, clock, fatal, tracer)
  const history = historyOf(core)
  const erasures = erasuresOf(core, history.services.history)
  const ledger = await ledgerFeatureOf(core)
  const instance = instanceOf(core, ledger.services.ledger.state)
  const tokens = tokensOf(core)
  const { verifier } = tokens.services
  const { once } = instance.services.idempotency
  const logins = await loginsOf(core, { verifier, once, history: history.services.history })
  const flags = flagsOf(core)
  const { renewal } = opened
  const models = followedModelsOf(core.stores.pepper.key)
  const renewed = renewal && viewRenewal({ ...core, models, renewal, fatal })
  /**
   * The features in the order in which they begin; they close in the reverse order. Only the ledger, which signs the
   * event of the stop, the membership and the log outlive the instance.
   */
  const features: readonly Feature[] = [
    core.following,
    erasures,
    membershipOf(core),
    ledger,
    tokens,
    instance,
    logins,
    history,
    flags,
    { close: async () => renewed?.close() },
  ]
  const { queue } = core.stores
  const each = async (work: (feature: Feature) => unknown, of = features) => {
    for (const feature of of) await work(feature)
  }
  return {
    service: {
      ...core,
      ...erasures.services,
      ...ledger.services,
      ...tokens.services,
      ...instance.services,
      ...logins.services,
      ...history.services,
      ...flags.services,
    },
    /**
     * Fills memory, creates the initial documents, and starts the jobs. After an abort the start stops at the next page.
     */
    begin: async (ending?: AbortSignal): Promise<void> => {
      await each(({ begin }) => begin?.(ending))
      for (const job of features.flatMap(({ jobs = [] }) => jobs)) {
        core.intervals.set(job.name, job.every)
        await queue.schedule(job)
      }
      await core.lease?.prove()
      // A start that fails before this point leaves no event, because it may be repeated every second.
      await instance.recordStart()
      await each(({ start }) => start?.())
    },
    /** Rebuilds read models that were found damaged. */
    renew: (error: Error): void => renewed?.met(error),
    /** Makes the instance report itself as not ready. */
    drain: (): void => {
      for (const { drain } of features) drain?.()
    },
    close: async (cause: StopCause): Promise<void> => {
      // A running job may wait for the views, so the queue is closed while the log is still followed.
      await queue.close()
      await each(({ close }) => close?.(cause), features.toReversed())
    },
  }
}
