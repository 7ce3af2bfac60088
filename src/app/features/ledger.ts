import { isReadable } from '../../adapters/embedded/files/secret-file.ts'
import { isRefusal, Refusal } from '../../base/errors.ts'
import { positionFinder } from '../../history/ranges.ts'
import { type Ledger, ledgerOf } from '../../ledger/ledger.ts'
import type { KeptCheckpoint, LedgerPorts } from '../../ledger/ledger-store.ts'
import type { Core } from '../core/core.ts'
import { startLedger } from '../ledger/first-start.ts'
import { witnessesOf } from '../ledger/witnesses.ts'
import { oncePerMinute } from '../telemetry/limited-lines.ts'
import { hasOwnLine } from '../telemetry/outage-log.ts'
import { checkKeys } from './erasures.ts'

const NAME = 'ledger-scrub'
/** Time in ms from the start to the first run, and between two looks at a tree that is not built yet. */
const [FIRST_MS, LOOK_MS] = [60_000, 1_000]

/**
 * Periodic comparison of the whole log with the ledger, on one instance. `every` in ms; 0 for never. Each run first
 * examines the files of the store and the keys of subjects.
 */
export const scrubJob = (
  every: number,
  { clock, stores: { queue, inspect }, intervals, onError }: Pick<Core, 'clock' | 'stores' | 'intervals' | 'onError'>,
  { scrub, state }: Pick<Ledger, 'scrub' | 'state'>,
  checkKeys: (stop: AbortSignal) => Promise<void>,
) => {
  const stop = new AbortController()
  let scheduled = Promise.resolve()
  const schedule = async (): Promise<void> => {
    await clock.sleep(FIRST_MS, stop.signal)
    while (!stop.signal.aborted && state() === 'building') await clock.sleep(LOOK_MS, stop.signal)
    if (stop.signal.aborted) return
    intervals.set(NAME, every)
    const run: Ledger['scrub'] = async (...args) => {
      await inspect?.(args[0])
      await checkKeys(args[0])
      return scrub(...args)
    }
    await queue.schedule({ name: NAME, every, run }).catch((error: unknown) => {
      // A queue that is closed refuses.
      if (!isRefusal(error, 'backend_unavailable')) throw error
    })
  }
  return {
    /** Schedules the job one minute after the start, as soon as the tree is built. */
    begin: (): void => {
      if (every > 0) scheduled = schedule().catch(onError('the comparison of the log with the ledger is not scheduled'))
    },
    /** Schedules nothing any more. The queue aborts a run. */
    close: async (): Promise<void> => {
      stop.abort()
      await scheduled
    },
  }
}

/** Interval in ms between two checkpoints in the log of the service. */
const TELL_MS = 3_600_000

/** Writes checkpoints to the log of the service: the first one, at most one an hour, and the last one. */
const checkpointLog = ({ clock, logger }: Core) => {
  let [logged, at] = ['', Number.NEGATIVE_INFINITY]
  const write = ({ text, size }: KeptCheckpoint) => {
    if (text !== logged) logger.info({ checkpoint: text, size }, 'checkpoint')
    ;[logged, at] = [text, clock.monotonic()]
  }
  return {
    write,
    onCheckpoint: (checkpoint: KeptCheckpoint): void => {
      if (clock.monotonic() - at >= TELL_MS) write(checkpoint)
    },
  }
}

/** Position of the event with an index, which this instance has followed; 0n for −1. */
const positions = ({ log, views, stores: { pepper }, follower }: Core) => {
  const find = positionFinder({ log, views, key: pepper.key })
  return async (wanted: number): Promise<bigint> => {
    if (wanted < 0) return 0n
    const { events, position } = follower.counted()
    if (events <= wanted) throw new Error(`event ${wanted} is not followed yet`)
    return (await find(({ index }) => index <= wanted, { index: events - 1, position })).position
  }
}

const STATES = ['ok', 'building', 'suspended', 'diverged'] as const

const addLedgerGauges = ({ metrics, clock }: Core, ledger: Ledger): void => {
  const gauge = (name: string, help: string, value: () => number) => metrics.gauge(name, help, [], value)
  gauge('ledger_size', 'Events in the tree of the ledger.', ledger.size)
  gauge('ledger_sealed_size', 'Events that the newest checkpoint covers.', () => ledger.served()?.size ?? 0)
  gauge('ledger_checkpoint_age_seconds', 'Age of the newest checkpoint; 0 without one.', () => {
    const at = ledger.served()?.sealedAt
    return at === undefined ? 0 : Math.max(0, clock.now().getTime() - Date.parse(at)) / 1000
  })
  gauge(
    'ledger_scrub_last_success_timestamp_seconds',
    'Time of the last comparison of the whole log with the ledger; 0 before the first, and after a difference.',
    () => {
      const result = ledger.scrubbed()
      return result?.ok === true ? Date.parse(result.at) / 1000 : 0
    },
  )
  gauge(
    'ledger_first_bad_index',
    'Index of the first event that is not the sealed one; -1 if none is found.',
    () => ledger.scrubbed()?.firstBad?.index ?? -1,
  )
  metrics.gauge('ledger_state', 'State of the ledger: 1 for the current one.', ['state'], () =>
    STATES.map((state) => ({ labels: [state], value: ledger.state() === state ? 1 : 0 })),
  )
}

const DAMAGED =
  'history is damaged: the log is not the sealed one, so nothing is signed; restore the log, then use rollcall ledger resume'

const FORGED =
  'a kept checkpoint has no valid signature of the ledger, so it is not served; delete its row from the ledger store'

/** Refuses the start if other users can read the signing key. The ledger reports each other fault of its content. */
const insistOnPrivate = async ({ keys }: LedgerPorts): Promise<void> => {
  try {
    await keys.read()
  } catch (error) {
    if (isReadable(error) || error instanceof Refusal) throw error
  }
}

/** The ledger, its metrics and its scrubs. Its faults do not end the service. */
export const ledgerFeatureOf = async (core: Core) => {
  const { config, logger, clock, log, stores, follower, execute, onError } = core
  const ports = await stores.ledger()
  await insistOnPrivate(ports)
  const { seal_interval: interval, seal_events: events } = config.history.ledger
  const { write, onCheckpoint } = checkpointLog(core)
  const tell = oncePerMinute(logger.error.bind(logger), clock.now)
  const failed = oncePerMinute(({ error }, message) => onError(message)(error), clock.now)
  const ledger = ledgerOf({
    clock,
    log,
    ports,
    key: stores.pepper.key,
    isShared: !stores.alone,
    writes: stores.writes,
    isSure: core.fresh,
    positionOf: positions(core),
    witnesses: witnessesOf(config, core, logger),
    followed: () => follower.counted().position,
    start: () => startLedger(config, { ports, log, execute, now: clock.now }),
    interval,
    events,
    onCheckpoint,
    onObstacle: ({ state, why }) =>
      tell(
        state,
        { why },
        `the ledger is ${state}; nothing is signed until rollcall ledger resume or rollcall ledger restart`,
      ),
    onForged: ({ size }) => tell(`forged ${size}`, { size }, FORGED),
    onDamage: (damage) => logger.error({ ...damage }, DAMAGED),
    onError: (error) => {
      if (!hasOwnLine(error)) failed('ledger', { error }, 'the ledger cannot be updated')
    },
  })
  addLedgerGauges(core, ledger)
  const scrubs = scrubJob(config.history.ledger.scrub_interval, core, ledger, (stop) => checkKeys(core, stop))
  return {
    services: { ledger },
    start: async (): Promise<void> => {
      await ledger.begin()
      scrubs.begin()
    },
    close: async (): Promise<void> => {
      await scrubs.close()
      await ledger.close()
      const last = ledger.served()
      if (last) write(last)
    },
  }
}
