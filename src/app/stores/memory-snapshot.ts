import { createHmac } from 'node:crypto'
import { type Clock, type Timer, withTimeout } from '../../base/clock.ts'
import type { EventLog } from '../../events/log.ts'
import type { Remembered } from '../../projections/engine/runner.ts'
import { type MemorySnapshot, readSnapshot, written } from '../../projections/engine/snapshot.ts'
import type { TokenIndex } from '../../projections/token-memory/token-index.ts'
import type { Row, Snapshots } from '../../projections/views.ts'
import type { Logger } from '../telemetry/logger.ts'

const FIRST_MS = 15_000
const EVERY_MS = 300_000
/** Timeout in ms for the last snapshot, at shutdown. */
const END_MS = 5_000

type MemoryToKeep = {
  readonly snapshots: Snapshots
  /** Secret of the service, from which the key of the snapshot's MAC is derived. */
  readonly secret: Uint8Array
  readonly log: Pick<EventLog, 'at' | 'first'>
  readonly index: TokenIndex
  /** Memory that holds complete rows. Each store in memory ignores rows of other read models. */
  readonly holders: readonly {
    readonly set: (view: string, row: Row) => void
    readonly rows: () => MemorySnapshot['rows']
  }[]
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

/** Writes snapshots of memory, and restores memory from one at startup if it is unmodified and belongs to this log. */
export const memorySnapshot = (memory: MemoryToKeep) => {
  const { snapshots, secret, log, index, holders, logger } = memory
  const key = createHmac('sha256', secret).update('rollcall memory snapshot').digest()

  /** Returns the snapshot, or the reason why it is unusable; undefined if there is none. */
  const found = async (): Promise<MemorySnapshot | { readonly unfit: string; readonly err?: unknown } | undefined> => {
    try {
      const bytes = await snapshots.read()
      if (!bytes) return undefined
      const snapshot = await readSnapshot(bytes, key)
      if ('unfit' in snapshot) return snapshot
      const [there, first] = [await log.at(snapshot.newest), await log.first()]
      if (there?.id !== snapshot.event || first?.id !== snapshot.log)
        return { unfit: 'the snapshot belongs to another event log' }
      if (index.fits(snapshot.tokens)) return snapshot
      return { unfit: 'the snapshot has more tokens than tokens.index_size allows' }
    } catch (err) {
      return { unfit: 'it cannot be read', err }
    }
  }

  return {
    /** Fills the empty memory from the snapshot. Returns the position and the events that the snapshot contains. */
    restore: async (): Promise<Remembered | undefined> => {
      const snapshot = await found()
      if (!snapshot) return undefined
      if ('unfit' in snapshot) {
        const { unfit: why, err } = snapshot
        logger.warn(
          { why, ...(err !== undefined && { err }) },
          'the snapshot of the memory cannot be used; the start reads the stored data instead',
        )
        return undefined
      }
      const { position, events, ahead, tokens, rows } = snapshot
      index.load(tokens)
      for (const [view, row] of rows) for (const holder of holders) holder.set(view, row)
      logger.info(
        { position: String(position), tokens: index.size() },
        'the start restored the memory from its snapshot',
      )
      return { position, events, ahead }
    },
    /**
     * Writes a snapshot of the present memory. Skipped if memory cannot be copied, or if the log no longer has the
     * newest event.
     */
    write: async ({ position, events, ahead }: Remembered): Promise<void> => {
      const [tokens, rows] = [index.save(), holders.flatMap((holder) => holder.rows())]
      const newest = ahead.reduce((latest, met) => (met.position > latest ? met.position : latest), position)
      const [there, first] = [await log.at(newest), await log.first()]
      if (!tokens || !there || !first) return
      await snapshots.write(
        written({ position, events, newest, event: there.id, log: first.id, ahead, tokens, rows }, key),
      )
    },
  }
}

type KeeperOptions = {
  readonly clock: Clock
  readonly write: (remembered: Remembered) => Promise<void>
  readonly remembered: () => Remembered
  /** False while memory may lag behind the log, or another instance writes the snapshots. */
  readonly mayWrite: () => boolean
  readonly onError: (error: unknown) => void
}

/**
 * Writes a snapshot soon after the start, then at an interval, and at shutdown, each time only if there are new events.
 */
export const snapshotKeeper = (options: KeeperOptions) => {
  const { clock, write, remembered, mayWrite, onError } = options
  let begun = false
  let timer: Timer | undefined
  let last = 0n
  let running: Promise<void> = Promise.resolve()

  const once = async () => {
    const now = remembered()
    if (!mayWrite() || now.position === last) return
    try {
      await write(now)
      last = now.position
    } catch (error) {
      onError(error)
    }
  }
  const later = (ms: number): void => {
    timer = clock
      .after(ms, () => {
        running = once().then(() => later(EVERY_MS))
      })
      .unref()
  }

  return {
    /** Starts the timer once memory is complete. `since`: position of the snapshot that memory was restored from. */
    begin: (since: bigint | undefined): void => {
      begun = true
      last = since ?? 0n
      later(FIRST_MS)
    },
    /** Writes the last snapshot before the end. It is called when memory no longer changes. */
    end: async (): Promise<void> => {
      if (!begun) return
      timer?.cancel()
      await withTimeout(clock, END_MS, running.then(once), () => undefined)
      timer?.cancel()
    },
  }
}
