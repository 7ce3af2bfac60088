import { destroyAgain, type IssuedToken, subjectEraser } from '../../commands/erase-subject.ts'
import type { History } from '../../history/history.ts'
import { issuesTo } from '../../http/history/tokens-of-person.ts'
import { unreadablePeople } from '../../http/login/live-logins.ts'
import { networkLife, unfinishedErasures } from '../../jobs/erasures.ts'
import type { Core } from '../core/core.ts'

const RESTORED =
  'keys of erased subjects were in the key store again and were destroyed again; the key store is an older copy: destroy all copies from before the erasures'
const UNREADABLE =
  'people with live sessions have no readable personal data: restore lost keys from the newest backup, and revoke the sessions of erased people'
const CLOCK_JUMPED =
  'this erasure of old network addresses is skipped, because the clock has jumped by more than an hour; the next one runs as usual, unless the clock jumps again'

/**
 * Destroys again the keys that completed erasures name, if the key store has them again because an older copy of it was
 * restored (decision 21).
 */
const eraseAgain = async ({ stores, erasures, logger }: Core): Promise<void> => {
  const keys = await destroyAgain(stores.keys, erasures.destroyed())
  if (keys > 0) logger.warn({ keys }, RESTORED)
}

/**
 * Destroys again the keys of erased subjects, and logs the number of people with a live session whose personal data
 * cannot be read.
 */
export const checkKeys = async (core: Core, stop: AbortSignal): Promise<void> => {
  await eraseAgain(core)
  const { lost, erased, examined } = await unreadablePeople(core, stop)
  if (lost + erased > 0) core.logger.warn({ lost, erased, examined }, UNREADABLE)
}

/** Erasure of subjects, with the jobs that finish interrupted erasures and erase old network addresses. */
export const erasuresOf = (core: Core, history: History) => {
  const { erasures, metrics, now, time, logger } = core
  const { keys } = core.stores
  let erased = 0
  metrics.count('subjects_erased_total', 'Erasures of the personal data of a subject.', [], () => erased)
  const eraser = subjectEraser({
    ...core,
    keys,
    tokensOf: async (person, stop) => {
      const tokens: IssuedToken[] = []
      for await (const { record } of issuesTo(history, person, stop))
        tokens.push({ subject: record.stream, time: record.time })
      return tokens
    },
    onErased: () => void erased++,
  })
  const { network_life: life } = core.config.history
  const onJump = () => logger.warn(CLOCK_JUMPED)
  return {
    services: { eraser, erasures, keyStates: keys.states },
    jobs: [
      unfinishedErasures(erasures, eraser),
      ...(life === undefined ? [] : [networkLife({ life, keys, eraser, now, steady: time.steady(), onJump })]),
    ],
    begin: () => eraseAgain(core),
  }
}
