import { timeSlicer } from '../../../event-loop.ts'
import { fail } from '../../../failure.ts'
import { parseCheckpoint } from '../../../ledger/checkpoint.ts'
import { entryOf, leafOf } from '../../../ledger/entry.ts'
import { EMPTY_ROOT, type Hash, isSameHash } from '../../../ledger/hashes.ts'
import { tamperingOf } from '../../../ledger/tampering.ts'
import { compactRange } from '../../../ledger/tree.ts'
import { keysOf } from '../../ledger/checkpoint-file.ts'
import { leafList } from '../../ledger/leaf-list.ts'
import type { StoredRecords } from '../../services.ts'
import { agreementOf, checkpointOf, trustedKeys } from './checkpoints.ts'
import type { Retained, Verdict } from './export-check.ts'
import { findings } from './findings.ts'

/** Verifies the records of a store against its newest checkpoint and the retained evidence. */
export const verifyStore = async (
  store: StoredRecords,
  retained: Retained,
  progress: (records: number) => void,
): Promise<Verdict> => {
  const found = findings()
  const ledger = await store.ledger()
  const named = [...retained.checkpoints, ...(ledger ? [{ name: 'newest checkpoint', text: ledger.checkpoint }] : [])]
  if (named.length === 0 && retained.hashes === undefined)
    fail('usage', 'There is nothing to compare the store with: set --checkpoint FILE or --hashes FILE.')
  const offered = keysOf(ledger?.vkeys ?? [])
  const keys = trustedKeys(retained.keys ?? offered, offered, named)
  if (named.length > 0 && keys.length === 0) fail('usage', 'The checkpoint needs a key: set --vkey KEY.')
  const origin = ledger?.origin ?? parseCheckpoint(named[0]?.text ?? '')?.origin ?? ''
  const checkpoints = named.flatMap((one) => {
    const values = checkpointOf(one, keys, origin, found)
    return values ? [{ ...values, name: one.name }] : []
  })
  const sizes = new Set(checkpoints.map(({ size }) => size))
  const roots = new Map<number, Hash>([[0, EMPTY_ROOT]])
  const [tree, leaves, pause] = [compactRange(), leafList(), timeSlicer()]
  for await (const page of store.pages()) {
    for (const record of page) {
      const leaf = leafOf(entryOf(record))
      tree.append(leaf)
      if (retained.hashes) leaves.add(leaf)
      if (sizes.has(tree.size)) roots.set(tree.size, tree.root())
      const paused = pause()
      if (paused) await paused
    }
    progress(tree.size)
  }
  const tampering = retained.hashes && (await tamperingOf(retained.hashes, leaves.bytes()))
  if (tampering) found.add(tampering)
  for (const { name, size, root } of checkpoints) {
    const present = roots.get(size)
    const about = `${name} (size ${size})`
    if (present === undefined)
      found.add({ kind: `log shorter than the checkpoint, ${tree.size} of ${size} records`, about })
    else if (!isSameHash(present, root)) found.add({ kind: 'another history', about })
  }
  const { good, bad } = agreementOf(checkpoints, (size) => roots.get(size))
  if (bad !== undefined && !tampering) found.add({ kind: 'changed', between: [good, bad] })
  return { found, events: tree.size, size: tree.size, root: tree.root() }
}
