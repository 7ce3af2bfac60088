import type { Clock } from '../../base/clock.ts'
import type { Say } from '../../base/progress.ts'
import { instance } from '../../commands/deployment.ts'
import { enveloper } from '../../commands/envelope.ts'
import { executor } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import { sealer } from '../../events/personal.ts'
import { formatBeside } from '../core/cluster-member.ts'
import { operator } from '../stores/operator-command.ts'
import { eventsOf, existing, type History, openHistory, openStores, type Stores } from '../stores/stores.ts'
import { insistOnSameLog, verify } from '../stores/verify-log-and-views.ts'

/** Opens the stores, runs the work and closes them. Creates no event log in a directory without one. */
const withOpened = async <O extends { readonly close: () => Promise<void> }, T>(
  config: Config,
  open: () => Promise<O>,
  work: (opened: O) => Promise<T>,
): Promise<T> => {
  if (config.storage.type === 'embedded') existing(eventsOf(config))
  const opened = await open()
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** Logger that writes warnings and errors of the stores to the command line. */
export const tellerOf = (say: Say) => {
  const saying = (record: unknown, message = ''): void => {
    const what = JSON.stringify(record)
    say(what === '{}' ? message : `${message} ${what}`)
  }
  return { info: () => undefined, warn: saying, error: saying }
}

type OnStores<S> = <T>(config: Config, clock: Clock, say: Say, work: (stores: S) => Promise<T>) => Promise<T>

/** Opens the stores without verification, runs the work and closes them. */
export const withStores: OnStores<Stores> = (config, clock, say, work) =>
  withOpened(config, () => openStores(config, clock, { logger: tellerOf(say) }), work)

/** Executor of the commands of an operator on open stores. */
export const operatorExecutor = async ({ log, keys, alone }: Pick<History, 'log' | 'keys' | 'alone'>, clock: Clock) =>
  executor(log, enveloper(sealer(keys), 'command-line', clock.now), {
    clock,
    format: await formatBeside({ log, alone }),
  })

/**
 * Opens the stores for writing. As at a start, it first verifies that the log belongs to this deployment and that the
 * read models match it. On servers, the running instances verify the read models.
 */
export const withSettled: OnStores<Stores> = (config, clock, say, work) =>
  withStores(config, clock, say, async (stores) => {
    const { snapshots, alone } = stores
    const rebuilt = alone ? await verify(clock, stores, tellerOf(say)) : await insistOnSameLog(stores)
    if (rebuilt) {
      await snapshots.remove()
      const { execute } = await operatorExecutor(stores, clock)
      const event = { instance: 'command-line', ...rebuilt }
      await execute(instance, 'command-line', 'RecordRebuild', event, { actor: operator() })
    }
    return work(stores)
  })

/**
 * Opens the stores for writing; on servers only the log and the keys, because the running instances maintain the rest.
 */
export const withHistory: OnStores<History> = (config, clock, say, work) =>
  config.storage.type === 'embedded'
    ? withSettled(config, clock, say, work)
    : withOpened(
        config,
        () => openHistory(config, clock),
        async (history) => {
          await insistOnSameLog(history)
          return work(history)
        },
      )
