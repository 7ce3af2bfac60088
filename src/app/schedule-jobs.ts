import type { Config } from '../config/load.ts'
import type { Service } from '../http/services/service.ts'
import { scheduleLogouts } from './auth/logouts.ts'
import { scheduleCleanups } from './cleanups.ts'
import type { Core } from './core.ts'
import { scheduleErasures } from './erasures.ts'
import type { Logger } from './telemetry/logger.ts'

/** Schedules the jobs of the service: cleanups, erasures, and logouts that a provider reported. */
export const scheduleJobs = async (config: Config, core: Core, service: Service, logger: Logger): Promise<void> => {
  await scheduleCleanups(config, core, logger)
  await scheduleErasures(config, core, service, logger)
  await scheduleLogouts(config, core, service)
}
