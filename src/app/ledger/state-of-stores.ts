import type { LedgerReport } from '../../cli/services.ts'
import { systemClock } from '../../clock.ts'
import { checkpointSigner } from '../../ledger/checkpoint-signer.ts'
import { ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import { treeOfLog } from '../../ledger/log-comparison.ts'
import { sealing } from '../../ledger/sealing.ts'
import type { History } from '../stores/stores.ts'

/** State of the ledger of stores. Reads the whole log; writes and signs nothing. */
export const stateOfStores = async ({ log, ledger, alone }: Pick<History, 'log' | 'ledger' | 'alone'>) => {
  const { store, keys } = await ledger()
  const [of, copies, scrub] = [await ledgerOfLog(log), await store.sealed(), await store.scrubbed()]
  const tree = await treeOfLog(
    log,
    Object.values(copies).map(({ size }) => size),
  )
  const signer = checkpointSigner(keys, !alone)
  const { checkpoint, obstacle } = (await sealing({
    clock: systemClock,
    store: { ...store, sealed: async () => copies },
    tree: { size: () => tree.size, root: () => tree.root, rootAt: async (size) => tree.roots.get(size) ?? tree.root },
    advance: async () => undefined,
    difference: () => undefined,
    ledgerOf: async () => of,
    // Without a signer, an attempt to seal only checks.
    signerOf: async (named) => {
      const found = await signer(named)
      return found && 'why' in found ? found : undefined
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
