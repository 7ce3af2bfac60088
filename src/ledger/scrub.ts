import type { Clock } from '../base/clock.ts'
import type { EventLog, Stored } from '../events/log.ts'
import { TILE_WIDTH } from '../verifier/tiles.ts'
import type { LedgerStore, ScrubResult, SealedRecord } from './ledger-store.ts'
import { compareWithKept, type KeptHashes, keptInStore, type LogDifference, notExtending } from './log-comparison.ts'
import type { LogTree } from './log-tree.ts'
import type { TileMacs } from './tiles/tile-macs.ts'

/** Maximum number of events that a scrub compares in a second. */
const RATE = 5_000

/** A difference between the log and the ledger. The first event is unknown if no hash of it is kept. */
export type Damage = Partial<LogDifference> & { readonly why: string }

type ScrubOptions = {
  readonly clock: Clock
  readonly log: Pick<EventLog, 'readAll' | 'head'>
  readonly store: Pick<LedgerStore, 'tile' | 'lastTile' | 'scrubbed' | 'writeScrub'>
  readonly macs: TileMacs
  readonly tree: Pick<LogTree, 'advance' | 'size' | 'position' | 'tail' | 'isStale' | 'found'>
  /** Sealed records of the ledger of the log. */
  readonly sealed: () => Promise<readonly SealedRecord[]>
  /** False while a difference does not count: this instance is not fresh, or doubts the log. */
  readonly isSure: () => boolean
  readonly onDamage: (damage: Damage) => void
}

/** Reports the number of compared events, and the number of all. */
export type OnCompared = (progress: { readonly done: number; readonly total: number }) => void

/** Passes pages on, at most 5,000 events a second. Throws at an abort. */
async function* paced(
  pages: AsyncIterable<readonly Stored[]>,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  signal: AbortSignal,
  onPage: (events: number) => void,
): AsyncGenerator<readonly Stored[]> {
  let done = 0
  for await (const page of pages) {
    const due = clock.monotonic() + (page.length * 1_000) / RATE
    signal.throwIfAborted()
    yield page
    onPage((done += page.length))
    const pause = due - clock.monotonic()
    if (pause > 0) await clock.sleep(pause, signal)
    signal.throwIfAborted()
  }
}

/** Kept hashes, followed by those that the instance has in memory. */
const withTail = (kept: KeptHashes, size: number, tail: LogTree['tail']): KeptHashes => {
  const [last, hashes] = [Math.floor(size / TILE_WIDTH), tail()]
  return {
    size: Math.max(kept.size, hashes.length > 0 ? size : 0),
    tile: async (n) => {
      const known = n * TILE_WIDTH < kept.size ? await kept.tile(n) : undefined
      return n === last && hashes.length > 0 ? [...(known ?? []), ...hashes.slice(known?.length ?? 0)] : known
    },
  }
}

/** Result after a comparison. A difference stays until an operator resumes or restarts the ledger. */
export const scrubResult = (
  before: ScrubResult | undefined,
  at: Date,
  through: number,
  damage: Partial<LogDifference> | undefined,
): ScrubResult => {
  const { index, kind } = damage ?? {}
  const firstBad = index !== undefined && kind !== undefined ? { index, kind } : before?.firstBad
  return { at: at.toISOString(), through, ok: !damage && before?.ok !== false, ...(firstBad && { firstBad }) }
}

/** Comparison of the log with the kept hashes and the sealed record. */
export const scrubbing = ({ clock, log, store, macs, tree, sealed: sealedRecords, isSure, onDamage }: ScrubOptions) => {
  const record = async (through: number, damage: Damage | undefined): Promise<ScrubResult> => {
    if (damage) {
      if (!isSure()) throw new Error('the log differs from the ledger, but this instance is not sure of the log')
      onDamage(damage)
    }
    const result = scrubResult(await store.scrubbed(), clock.now(), through, damage)
    await store.writeScrub(result)
    return result
  }

  return {
    /** Compares the whole log, at most 5,000 events a second, and stores the result. Rejects at an abort. */
    compareAll: async (signal: AbortSignal, onCompared: OnCompared): Promise<ScrubResult> => {
      const sealed = await sealedRecords()
      const stored = await keptInStore(store, macs, sealed, tree.isStale())
      await tree.advance(await log.head(), signal)
      const [total, position] = [tree.size(), tree.position()]
      const kept = withTail(stored, total, tree.tail)
      const pages = paced(log.readAll(0n, position), clock, signal, (done) => onCompared({ done, total }))
      const sizes = sealed.map(({ size }) => size)
      const { size, roots, difference } = await compareWithKept(pages, kept, sizes)
      signal.throwIfAborted()
      if (difference) return record(size, { ...difference, why: `event ${difference.index} is ${difference.kind}` })
      for (const each of sealed) {
        const why = notExtending(size, roots.get(each.size), each)
        if (why !== undefined) return record(size, { why })
      }
      return record(size, undefined)
    },
    /** Stores the difference from the kept tiles that the start found, if it is sealed. */
    recordFound: async (): Promise<ScrubResult | undefined> => {
      const found = tree.found()
      const isSealed = (await sealedRecords()).some(({ size }) => found && found.index < size)
      // A log that ends early is no changed event, and the seals refuse it.
      if (!found || found.kind === 'truncated' || !isSealed || !isSure()) return undefined
      return record(tree.size(), { ...found, why: `event ${found.index} is ${found.kind}` })
    },
  }
}
