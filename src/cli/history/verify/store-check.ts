import type { StoredRecords } from '../../../app/stores/stored-records.ts'
import { fail } from '../../../base/failure.ts'
import { treeOfPages } from '../../../ledger/log-comparison.ts'
import { agreementOf, checkpointOf, cosignedSizes } from '../../../verifier/check/checkpoints.ts'
import { keysOf, type Named, type Retained, trustedKeys } from '../../../verifier/check/evidence.ts'
import type { Verdict } from '../../../verifier/check/export-check.ts'
import { findings } from '../../../verifier/check/findings.ts'
import { leafList } from '../../../verifier/check/leaf-list.ts'
import { isSameHash } from '../../../verifier/hashes.ts'
import { parseCheckpoint } from '../../../verifier/note/checkpoint.ts'
import type { VerifierKey } from '../../../verifier/note/vkey.ts'
import { tamperingOf } from '../../../verifier/proof/tampering.ts'

/** Reports the number of records after each page. */
async function* withProgress<T>(
  pages: AsyncIterable<readonly T[]>,
  progress: (records: number) => void,
): AsyncGenerator<readonly T[]> {
  let records = 0
  for await (const page of pages) {
    yield page
    progress((records += page.length))
  }
}

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
    fail(
      'usage',
      'The command needs a checkpoint or a list of hashes to compare the store with: set --checkpoint FILE or --hashes FILE.',
    )
  const offered = keysOf(ledger?.vkeys ?? [])
  const keys = trustedKeys(retained.keys ?? offered, offered, named)
  if (named.length > 0 && keys.length === 0) fail('usage', 'The checkpoint needs a key: set --vkey KEY.')
  const origin = ledger?.origin ?? parseCheckpoint(named[0]?.text ?? '')?.origin ?? ''
  const valuesOf = (one: Named, trusted: readonly VerifierKey[]) => {
    const values = checkpointOf(one, trusted, origin, found)
    return values ? [{ ...values, name: one.name }] : []
  }
  const checkpoints = [
    ...named.flatMap((one) => valuesOf(one, keys)),
    // The trusted keys need not have signed the earlier checkpoints of the store.
    ...(ledger?.others ?? []).flatMap((one) => valuesOf(one, [...keys, ...offered])),
  ]
  const leaves = leafList()
  const sizes = [0, ...checkpoints.map(({ size }) => size)]
  const { size, root, roots } = await treeOfPages(withProgress(store.pages(), progress), sizes, (leaf) => {
    if (retained.hashes) leaves.add(leaf)
  })
  const tampering = retained.hashes && tamperingOf(retained.hashes, leaves.bytes())
  if (tampering) found.add(tampering)
  for (const checkpoint of checkpoints) {
    const present = roots.get(checkpoint.size)
    const about = `${checkpoint.name} (size ${checkpoint.size})`
    if (present === undefined)
      found.add({ kind: `log shorter than the checkpoint, ${size} of ${checkpoint.size} records`, about })
    else if (!isSameHash(present, checkpoint.root)) found.add({ kind: 'another history', about })
  }
  const { good, bad } = agreementOf(checkpoints, (each) => roots.get(each))
  if (bad !== undefined && !tampering) found.add({ kind: 'changed', between: [good, bad] })
  return { found, events: size, size, root, cosigned: cosignedSizes(named, keys) }
}
