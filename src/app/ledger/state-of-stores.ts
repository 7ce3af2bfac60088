import type { LedgerReport } from '../../cli/services.ts'
import type { Clock } from '../../clock.ts'
import { checkpointSigner } from '../../ledger/checkpoint-signer.ts'
import { ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import { treeOfPages } from '../../ledger/log-comparison.ts'
import { isObstacle, sealing } from '../../ledger/sealing.ts'
import type { History } from '../stores/stores.ts'

/** State of the ledger of stores. Reads the whole log; writes and signs nothing. */
export const stateOfStores = async (
  { log, ledger, alone }: Pick<History, 'log' | 'ledger' | 'alone'>,
  clock: Clock,
) => {
  const { store, keys } = await ledger()
  const [of, copies, scrub] = [await ledgerOfLog(log), await store.sealed(), await store.scrubbed()]
  const tree = await treeOfPages(
    log.readAll(0n),
    Object.values(copies).flatMap(({ size, witnessed }) => (witnessed ? [size, witnessed.size] : [size])),
  )
  const signer = checkpointSigner(keys, !alone)
  const { checkpoint, obstacle } = (await sealing({
    clock,
    store: { ...store, sealed: async () => copies },
    tree: {
      size: () => tree.size,
      root: () => tree.root,
      rootAt: async (size) => tree.roots.get(size) ?? tree.root,
      found: () => undefined,
    },
    advance: async () => undefined,
    ledgerOf: async () => of,
    // Without a signer, an attempt to seal only checks.
    signerOf: async (named) => {
      const found = await signer(named)
      return found && isObstacle(found) ? found : undefined
    },
    isSure: () => true,
  })())!
  const begun = of ?? Object.values(copies)[0]
  const isNew = !begun && obstacle
  const { size, root, sealedAt } = checkpoint ?? {}
  return {
    state: isNew || !obstacle ? 'ok' : obstacle.state,
    ...(obstacle && !isNew && { why: obstacle.why }),
    ...(of && { ledger: of.ledger, origin: of.origin }),
    size: tree.size,
    ...(size !== undefined && { sealed: { size, root: root!, sealedAt: sealedAt! } }),
    keys: of?.keys ?? [],
    scrub: scrub ?? {},
  } satisfies LedgerReport
}
