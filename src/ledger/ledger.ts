import type { Clock } from '../base/clock.ts'
import { refuse } from '../base/errors.ts'
import { forEachSliced } from '../base/event-loop.ts'
import type { EventLog } from '../events/log.ts'
import { type FollowerOptions, type LedgerState, ledgerFollower } from './follower.ts'
import { type LedgerKey, type LedgerOfLog, ledgerOfLog } from './ledger-of-log.ts'
import type { KeptCheckpoint, LedgerPorts, LedgerStore, ScrubResult, SealedRecord } from './ledger-store.ts'
import { logTree } from './log-tree.ts'
import { isObstacle, orObstacle } from './obstacle.ts'
import { type Damage, type OnCompared, scrubbing } from './scrub.ts'
import { checkpointSigner, sealing } from './sealing.ts'
import { isSigned, newestSigned, recordMacs } from './signed-records.ts'
import { tileMacs } from './tiles/tile-macs.ts'
import { type WitnessSettings, type WitnessState, witnesses } from './witness/witnesses.ts'

type LedgerOptions = Pick<
  FollowerOptions,
  'interval' | 'events' | 'followed' | 'start' | 'onCheckpoint' | 'onObstacle' | 'onError'
> & {
  readonly clock: Clock
  readonly log: Pick<EventLog, 'read' | 'readAll' | 'head'>
  readonly ports: LedgerPorts
  /** Key of the MACs of tiles. */
  readonly key: Uint8Array
  /** True if other instances share the log, so that one of them may have the signing key. */
  readonly isShared: boolean
  /** True while this instance stores tiles. */
  readonly writes: () => boolean
  /** False while this instance must not sign: it is not fresh, or doubts the log. */
  readonly isSure: () => boolean
  /** Position of the event with this index; 0n for −1. */
  readonly positionOf: (index: number) => Promise<bigint>
  /** Runs for each difference between the log and the ledger that a scrub finds. */
  readonly onDamage: (damage: Damage) => void
  readonly witnesses: WitnessSettings
  /** Runs for each kept checkpoint without a valid signature, at each attempt to seal. */
  readonly onForged: (checkpoint: KeptCheckpoint) => void
}

/** State of the ledger (api.md §17.5). */
type LedgerStatus = {
  readonly state: LedgerState
  readonly of: LedgerOfLog | undefined
  readonly keys: readonly LedgerKey[]
  /** Number of events in the tree. */
  readonly size: number
  readonly sealed: KeptCheckpoint | undefined
  readonly witnesses: readonly WitnessState[]
  readonly scrub: ScrubResult | undefined
}

/** Ports that refuse calls after `end`. The stores close then, and a call would be reported as an outage. */
const portsUntilEnd = () => {
  let hasEnded = false
  const until = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...args: readonly unknown[]): unknown =>
          hasEnded ? refuse('backend_unavailable') : Reflect.apply(member, target, args)
      },
    })
  return { until, end: (): void => void (hasEnded = true) }
}

/** The kept checkpoints of a store that have a valid signature. */
const signedCheckpoints = (
  store: Pick<LedgerStore, 'checkpoint' | 'checkpoints'>,
  named: () => Promise<LedgerOfLog | undefined>,
) => ({
  newestCheckpoint: async (): Promise<KeptCheckpoint | undefined> =>
    (await newestSigned(store, await named())).signed[0],
  /** The kept checkpoint of a size. */
  checkpoint: async (size: number): Promise<KeptCheckpoint | undefined> => {
    const kept = await store.checkpoint(size)
    return kept && isSigned(kept, await named()) ? kept : undefined
  },
  /** Those of some kept checkpoints that have a valid signature. */
  signed: async (kept: readonly KeptCheckpoint[]): Promise<readonly KeptCheckpoint[]> => {
    const of = await named()
    const found: KeptCheckpoint[] = []
    await forEachSliced(kept, (each) => {
      if (isSigned(each, of)) found.push(each)
    })
    return found
  },
})

/** The sealed records of the ledger that a log names. An attempt to seal reports an unreadable record. */
const sealedRecords =
  (store: Pick<LedgerStore, 'sealed'>, named: () => Promise<LedgerOfLog | undefined>) =>
  async (): Promise<readonly SealedRecord[]> => {
    const [of, copies] = [await named(), await orObstacle(store.sealed)]
    return isObstacle(copies) ? [] : Object.values(copies).filter(({ ledger }) => ledger === of?.ledger)
  }

/** The ledger of one instance: the tree over its log, the checkpoints, and the parts from which proofs are made. */
export const ledgerOf = (options: LedgerOptions) => {
  const { clock, ports, key, isShared } = options
  const { until, end } = portsUntilEnd()
  const [log, store, keys] = [until(options.log), until(ports.store), until(ports.keys)]
  let known: LedgerOfLog | undefined
  const named = async () => {
    known = await ledgerOfLog(log)
    return known
  }
  const [macs, sealed] = [tileMacs(key), sealedRecords(store, named)]
  const tree = logTree({ ...options, log, store, macs, sealed })
  const own = signedCheckpoints(store, named)
  const signedStore = { ...store, ...own }
  const scrubs = scrubbing({ ...options, log, store, macs, tree, sealed })
  const follower = ledgerFollower({
    ...options,
    log,
    ...own,
    store: signedStore,
    tree,
    recordFound: scrubs.recordFound,
    isCosignedElsewhere: isShared && options.witnesses.list.length > 0,
    sealingWith: (advance) =>
      sealing({
        ...options,
        store,
        tree,
        advance,
        ledgerOf: named,
        signerOf: checkpointSigner(keys, isShared),
        macs: recordMacs(key),
        onSealed: (checkpoint) => submitted.submit(checkpoint),
      }),
  })
  const { begin, close, provenSize, scrub, noteScrub, ...shown } = follower
  const submitted = witnesses({ ...options.witnesses, clock, store: signedStore, tree, follower, known: () => known })
  return {
    begin: async (): Promise<void> => {
      await begin()
      await named().catch(options.onError)
    },
    close: async (): Promise<void> => {
      submitted.end()
      await close()
      end()
    },
    /** Id of the ledger; undefined until the log names one. */
    id: (): string | undefined => known?.ledger,
    /** Origin of its checkpoints; undefined until the log names one. */
    origin: (): string | undefined => known?.origin,
    /** True if a checkpoint that the log extends covers the event with this index. */
    covers: (index: number): boolean => index < provenSize(),
    ...shown,
    /** Result of the last scrub of any instance, at most a minute old; undefined before the first. */
    scrubbed: scrub,
    /** Compares the whole log with the ledger, at most 5,000 events a second. Rejects at an abort. */
    scrub: async (signal: AbortSignal, onCompared: OnCompared): Promise<void> =>
      noteScrub(await scrubs.compareAll(signal, onCompared)),
    size: tree.size,
    status: async (): Promise<LedgerStatus> => {
      const of = await named()
      const [result, states] = [await store.scrubbed(), await submitted.states(of?.origin)]
      return {
        state: shown.state(),
        of,
        keys: of?.keys ?? [],
        size: tree.size(),
        sealed: shown.served(),
        witnesses: states,
        scrub: result,
      }
    },
    checkpoints: store.checkpoints,
    ...own,
    nodes: tree.nodes,
    tile: tree.tile,
    entries: tree.entries,
    rootAt: tree.rootAt,
  }
}
export type Ledger = ReturnType<typeof ledgerOf>
