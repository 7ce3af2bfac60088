import { createHash } from 'node:crypto'
import { canonical } from '../../base/canonical.ts'
import { type Clock, withTimeout } from '../../base/clock.ts'
import { instance as decider } from '../../commands/deployment.ts'
import { SYSTEM } from '../../commands/envelope.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import { METHODS } from '../../events/token.ts'
import type { InstanceServices } from '../../http/services/instance.ts'
import type { runner } from '../../projections/engine/runner.ts'
import type { Rebuilt } from '../stores/verify-log-and-views.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Timeout in ms of each of the two commands, and of the wait for the read models. */
const PATIENCE_MS = 1_000

type Parts = {
  readonly instance: string
  readonly execute: Execute
  readonly follower: Pick<ReturnType<typeof runner>, 'seen'>
  readonly clock: Clock
}

/** Cause of a shutdown: a request of the operator, or a fault. */
export type StopCause = 'signal' | 'error'

/** The cause of a shutdown during the start. */
export const causeOf = (ending: AbortSignal | undefined): StopCause => (ending?.aborted ? 'signal' : 'error')

/**
 * Records the start and the stop of this instance in the history. Neither fails, or delays the instance by more than a
 * second: an event that cannot be written is logged.
 */
export const presenceOf = (
  { storage, authentication: { methods } }: Pick<Config, 'storage' | 'authentication'>,
  { instance, execute, follower, clock }: Parts,
  { info, config }: InstanceServices['about'],
  logger: Pick<Logger, 'warn'>,
) => {
  let hasStarted = false

  const record = async (work: Promise<unknown>, missing: string): Promise<void> => {
    const late = () => {
      throw new Error('the event log did not answer in time')
    }
    await withTimeout(clock, PATIENCE_MS, work, late).catch((err: unknown) => logger.warn({ err }, missing))
  }

  return {
    /** Records a rebuild of read models. Fails if the event cannot be written. */
    rebuilt: async (rebuilt: Rebuilt): Promise<void> => {
      await execute(decider, instance, 'RecordRebuild', { instance, ...rebuilt }, SYSTEM)
    },
    start: (): Promise<void> => {
      hasStarted = true
      const started = {
        instance,
        version: info.version,
        node: info.nodeVersion,
        storage: storage.type,
        methods: METHODS.filter((method) => methods[method].enabled),
        configDigest: createHash('sha256').update(canonical(config)).digest('hex'),
      }
      const work = execute(decider, instance, 'RecordStart', started, SYSTEM)
      return record(
        work,
        'the start of this instance could not be recorded in the event log; the instance runs without that event',
      )
    },
    /** Does nothing if the instance has not started. Waits for the read models, so that the next start finds them complete. */
    stop: async (cause: StopCause): Promise<void> => {
      if (!hasStarted) return
      const stopped = async () => {
        const { stored } = await execute(decider, instance, 'RecordStop', { instance, cause }, SYSTEM)
        const last = stored.at(-1)
        if (last) await follower.seen(last.position, PATIENCE_MS)
      }
      await record(stopped(), 'the stop of this instance could not be recorded in the event log')
    },
  }
}
