import { createHmac } from 'node:crypto'
import { type Clock, type Timer, withTimeout } from '../../clock.ts'
import type { EventLog } from '../../events/log.ts'
import type { Remembered } from '../../projections/engine/runner.ts'
import { type MemorySnapshot, readSnapshot, written } from '../../projections/engine/snapshot.ts'
import type { Snapshots } from '../../projections/snapshots.ts'
import type { TokenIndex } from '../../projections/token-memory/token-index.ts'
import type { Row } from '../../projections/views.ts'
import type { Logger } from '../telemetry/logger.ts'

const FIRST_MS = 15_000
const EVERY_MS = 300_000
/** An end waits so long for the last one. */
const END_MS = 5_000

type MemoryToKeep = {
  readonly snapshots: Snapshots
  /** Key that the service alone has. */
  readonly secret: Uint8Array
  readonly log: Pick<EventLog, 'at' | 'first'>
  readonly index: TokenIndex
  /** What holds rows of views whole; each passes over those of other views. */
  readonly holders: readonly {
    readonly set: (view: string, row: Row) => unknown
    readonly rows: () => MemorySnapshot['rows']
  }[]
  /** Tokens that the index may hold. */
  readonly capacity: number
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

/** Writes down what memory holds, and fills memory with it at a start, where it is of this log and nobody else has changed it. */
export const memorySnapshot = (memory: MemoryToKeep) => {
  const { snapshots, secret, log, index, holders, capacity, logger } = memory
  const key = createHmac('sha256', secret).update('rollcall memory snapshot').digest()

  /** The snapshot, why it is not to be used, or undefined where there is none. */
  const found = async (): Promise<MemorySnapshot | { readonly unfit: string; readonly err?: unknown } | undefined> => {
    try {
      const bytes = await snapshots.read()
      if (!bytes) return undefined
      const snapshot = await readSnapshot(bytes, key)
      if ('unfit' in snapshot) return snapshot
      const [there, first] = [await log.at(snapshot.newest), await log.first()]
      if (there?.id !== snapshot.event || first?.id !== snapshot.log) return { unfit: 'it is of another log' }
      if (index.fits(snapshot.tokens, capacity)) return snapshot
      return { unfit: 'it holds more tokens than tokens.index_size allows' }
    } catch (err) {
      return { unfit: 'it cannot be read', err }
    }
  }

  return {
    /** Fills memory, which is empty, and gives what it holds then. */
    restore: async (): Promise<Remembered | undefined> => {
      const snapshot = await found()
      if (!snapshot) return undefined
      if ('unfit' in snapshot) {
        const { unfit: why, err } = snapshot
        logger.warn(
          { why, ...(err !== undefined && { err }) },
          'the snapshot of memory is not used; memory is read anew',
        )
        return undefined
      }
      const { position, events, ahead, tokens, rows } = snapshot
      index.restore(tokens)
      for (const [view, row] of rows) for (const holder of holders) holder.set(view, row)
      logger.info({ position: String(position), tokens: index.size() }, 'memory begins from its snapshot')
      return { position, events, ahead }
    },
    /** Writes down what memory holds now; nothing where that cannot be told, or the log does not have the event any more. */
    write: async ({ position, events, ahead }: Remembered): Promise<void> => {
      const [tokens, rows] = [index.copy(), holders.flatMap((holder) => holder.rows())]
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
  /** False while what memory holds may be behind, or another instance is the one that writes. */
  readonly mayWrite: () => boolean
  readonly onError: (error: unknown) => void
}

/** Sees to it that a snapshot is written soon after the start, every few minutes, and at the end, as often as there is something new. */
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
    /** Memory holds all that it must from now on. `since`: where it stood in the snapshot that it began from. */
    begin: (since: bigint | undefined): void => {
      begun = true
      last = since ?? 0n
      later(FIRST_MS)
    },
    /** Writes what is new, once memory takes nothing more. */
    end: async (): Promise<void> => {
      if (!begun) return
      timer?.cancel()
      await withTimeout(clock, END_MS, running.then(once), () => undefined)
      timer?.cancel()
    },
  }
}
