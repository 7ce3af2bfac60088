import { destroyAgain, type IssuedToken, subjectEraser } from '../commands/erase-subject.ts'
import type { Config } from '../config/load.ts'
import type { History } from '../history/history.ts'
import { issuesTo } from '../http/history/tokens-of-person.ts'
import type { ErasingServices } from '../http/services/erasing.ts'
import { unfinishedErasures } from '../jobs/erasures.ts'
import { networkLife } from '../jobs/network-life.ts'
import type { Core } from './core.ts'
import type { Logger } from './telemetry/logger.ts'

const RESTORED =
  'keys of erased subjects were in the key store again and were destroyed again; the key store is an older copy: destroy all copies from before the erasures'
const CLOCK_JUMPED =
  'this erasure of old network addresses is skipped, because the clock has jumped by more than an hour; the next one runs as usual, unless the clock jumps again'

/** Creates the services for the erasure of subjects. */
export const erasingServicesOf = (
  { stores: { keys }, erasures, execute, follower, metrics }: Core,
  history: History,
): ErasingServices => {
  let erased = 0
  metrics.count('subjects_erased_total', 'Erasures of the personal data of a subject.', [], () => [
    { labels: [], value: erased },
  ])
  const eraser = subjectEraser({
    execute,
    keys,
    applied: follower.applied,
    tokensOf: async (person, stop) => {
      const tokens: IssuedToken[] = []
      for await (const { record } of issuesTo(history, person, stop))
        tokens.push({ subject: record.stream, time: record.time })
      return tokens
    },
    onErased: () => void erased++,
  })
  return {
    eraser,
    erasures,
    keyStates: keys.states,
  }
}

/**
 * Destroys again the keys that completed erasures name, if the key store has them again because an older copy of it was
 * restored (decision 21).
 */
export const eraseAgain = async (
  { stores, erasures }: Pick<Core, 'stores' | 'erasures'>,
  logger: Pick<Logger, 'warn'>,
): Promise<void> => {
  const keys = await destroyAgain(stores.keys, erasures.destroyed())
  if (keys > 0) logger.warn({ keys }, RESTORED)
}

/** Schedules the jobs that finish interrupted erasures, and that erase old network addresses. */
export const scheduleErasures = async (
  { history: { network_life: life } }: Config,
  { stores: { queue, keys }, erasures, intervals, time }: Core,
  { eraser }: Pick<ErasingServices, 'eraser'>,
  logger: Logger,
): Promise<void> => {
  const jobs = [unfinishedErasures(erasures, eraser)]
  const onJump = () => logger.warn(CLOCK_JUMPED)
  if (life !== undefined)
    jobs.push(networkLife({ life, keys, eraser, now: time.present, steady: time.steady(), onJump }))
  for (const job of jobs) {
    intervals.set(job.name, job.every)
    await queue.schedule(job)
  }
}
