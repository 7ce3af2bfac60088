import type { Clock } from '../../base/clock.ts'
import { watched } from '../../base/progress.ts'
import { ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import type { SealedCopies } from '../../ledger/ledger-store.ts'
import { treeOfPages } from '../../ledger/log-comparison.ts'
import { isObstacle, orObstacle } from '../../ledger/obstacle.ts'
import { checkpointSigner, type Sealed, sealing } from '../../ledger/sealing.ts'
import { COMPARED, recordMacs } from '../../ledger/signed-records.ts'
import { tileMacs } from '../../ledger/tiles/tile-macs.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import type { History } from '../stores/stores.ts'

type OnStores = Pick<History, 'log' | 'ledger' | 'alone' | 'pepper'>

/**
 * One attempt to seal the log of stores, of which it reads everything. Without `signs` it only checks. The outcome is
 * undefined if a running instance sealed at the same time.
 */
export const attemptOnStores = async ({ log, ledger, alone, pepper }: OnStores, clock: Clock, signs: boolean) => {
  const { store, keys } = await ledger()
  const [of, found] = [await ledgerOfLog(log), await orObstacle(store.sealed)]
  const copies: SealedCopies = isObstacle(found) ? {} : found
  const kept = await store.checkpoints(Number.MAX_SAFE_INTEGER, COMPARED)
  let position = 0n
  const pages = watched(log.readAll(0n), (page) => (position = page.at(-1)?.position ?? position))
  const tree = await treeOfPages(pages, [
    ...Object.values(copies).flatMap(({ size, text, witnessed }) => [
      size,
      parseCheckpoint(text ?? '')?.size ?? 0,
      witnessed?.size ?? 0,
    ]),
    ...kept.map(({ size }) => size),
  ])
  const signer = checkpointSigner(keys, !alone)
  const outcome: Sealed | undefined = await sealing({
    clock,
    // An attempt reports a record that is unreadable.
    store: isObstacle(found) ? store : { ...store, sealed: async () => copies },
    tree: {
      size: () => tree.size,
      position: () => position,
      root: () => tree.root,
      rootAt: async (size) => tree.roots.get(size) ?? tree.root,
      found: () => undefined,
      sealedTail: () => tileMacs(pepper.key).sealTail(tree.size, tree.tail),
    },
    advance: async () => undefined,
    ledgerOf: async () => of,
    // Without a signer, an attempt to seal only checks.
    signerOf: async (named) => {
      const own = await signer(named)
      return signs || (own && isObstacle(own)) ? own : undefined
    },
    isSure: () => true,
    macs: recordMacs(pepper.key),
    onForged: () => undefined,
  })()
  return { of, copies, size: tree.size, outcome }
}

/**
 * State of the ledger of stores (api.md §17.5). `why` is the cause for which nothing is signed, `size` the number of
 * events of the log. Reads the whole log; writes and signs nothing.
 */
export const stateOfStores = async (history: OnStores, clock: Clock) => {
  const { of, copies, size: events, outcome } = await attemptOnStores(history, clock, false)
  const { checkpoint, obstacle } = outcome!
  const scrub = await (await history.ledger()).store.scrubbed()
  const begun = of ?? Object.values(copies)[0]
  const isNew = !begun && obstacle
  const { size, root, sealedAt } = checkpoint ?? {}
  return {
    state: isNew || !obstacle ? 'ok' : obstacle.state,
    ...(obstacle && !isNew && { why: obstacle.why }),
    ...(of && { ledger: of.ledger, origin: of.origin }),
    size: events,
    ...(size !== undefined && { sealed: { size, root: root!, sealedAt: sealedAt! } }),
    keys: of?.keys ?? [],
    scrub: scrub ?? {},
  }
}

export type LedgerReport = Awaited<ReturnType<typeof stateOfStores>>
