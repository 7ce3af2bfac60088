import { enveloper } from '../../commands/envelope.ts'
import { executor } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import { FORMAT } from '../../events/catalog.ts'
import type { EventLog } from '../../events/log.ts'
import { sealer as sealerOf } from '../../events/personal.ts'
import type { Metrics } from '../../http/metrics/metrics.ts'
import { erasedInLog } from '../../projections/erasures.ts'
import { lostSubjects } from '../telemetry/lost-subjects.ts'
import { tracedExecute } from '../telemetry/traced-commands.ts'
import type { FollowingParts } from './following.ts'
import { quotas } from './quotas.ts'

type Parts = Omit<FollowingParts, 'fatal' | 'onError'> & {
  readonly config: Config
  readonly metrics: Metrics
  readonly instance: string
  readonly log: EventLog
}

/** Commands over the log, and the encryption of personal data in their events. */
export const commandsOf = (parts: Parts) => {
  const { config, metrics, logger, clock, tracer, stores, time, membership, instance, log } = parts
  const { index, flagStore, erasures } = parts.memory
  const { keys, alone, adapters } = stores
  const sealer = sealerOf(keys, erasedInLog(log, erasures), lostSubjects(metrics, logger, adapters.views))
  const commands = executor(log, enveloper(sealer, instance, clock.now, alone ? time.newest : undefined), {
    clock,
    admit: quotas(config.quotas, flagStore, index),
    format: alone ? FORMAT : membership.format,
  })
  return { ...commands, sealer, execute: tracer ? tracedExecute(commands.execute, tracer) : commands.execute }
}
