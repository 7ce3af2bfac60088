import type { Manifest } from '../export/manifest.ts'
import { HASH_BYTES, type Hash, hashAt, hashesOf, hashOfBase64, isSameHash } from '../hashes.ts'
import type { Checkpoint } from '../note/checkpoint.ts'
import { coverCheck } from '../proof/cover.ts'
import { verifyConsistency } from '../proof/proofs.ts'
import { tamperingOf } from '../proof/tampering.ts'
import { agreementOf, type CosignedSize, checkpointOf, cosignedSizes } from './checkpoints.ts'
import { keysOf, type Retained, trustedKeys } from './evidence.ts'
import { type Findings, findings } from './findings.ts'
import { type GivenExport, readProof } from './inputs.ts'
import { type LeafList, leafList } from './leaf-list.ts'
import { checkLines, type Reading } from './lines.ts'

export type Verdict = {
  readonly found: Findings
  readonly events: number
  readonly size: number
  readonly root: Hash | undefined
  /** Cosignatures of the witnesses whose keys were given. */
  readonly cosigned: readonly CosignedSize[]
}

/** Root of the manifest's earlier tree, if its proof leads to the checkpoint. */
const consistentWith = ({ consistency }: Manifest, checkpoint: Checkpoint, found: Findings): Checkpoint | undefined => {
  if (consistency === undefined) return undefined
  const root = hashOfBase64(consistency.from.root)
  const hashes = consistency.hashes.map(hashOfBase64)
  const { size } = consistency.from
  if (root && hashes.every((hash) => hash !== undefined) && verifyConsistency({ size, root }, checkpoint, hashes))
    return { origin: checkpoint.origin, size, root }
  found.add({ kind: 'wrong consistency proof', about: 'manifest' })
  return undefined
}

/** Compares retained leaves with those of an export of everything. */
const compareLeaves = (
  { index: { from, to } }: Manifest,
  hashes: Buffer,
  leaves: LeafList,
  found: Findings,
): boolean => {
  const tampering = tamperingOf(hashes.subarray(from * HASH_BYTES), leaves.bytes())
  // A whole export may end before the retained leaves.
  if (tampering === undefined || (tampering.kind === 'truncated' && leaves.size === to - from)) return false
  found.add({ kind: tampering.kind, index: from + tampering.index })
  return true
}

/** Notes the retained checkpoints that the export contradicts, and those that it cannot be compared with. */
const compareRetained = (
  retained: readonly (Checkpoint & { readonly name: string })[],
  checkpoint: Checkpoint,
  known: (size: number) => Hash | undefined,
  found: Findings,
): void => {
  for (const { name, size, root } of retained) {
    const about = `${name} (size ${size})`
    const present = known(size)
    if (size > checkpoint.size)
      found.add({ kind: `log shorter than the checkpoint, ${checkpoint.size} of ${size} records`, about })
    else if (present === undefined)
      found.add({
        kind: 'not comparable, because the export contains no consistency proof from this checkpoint',
        about,
      })
    else if (!isSameHash(present, root)) found.add({ kind: 'another history', about })
  }
}

/** Verifies an export against its manifest and the retained evidence. */
export const verifyExport = async (given: GivenExport, retained: Retained, reading: Reading): Promise<Verdict> => {
  const { manifest, paths } = given
  const found = findings()
  const offered = keysOf(manifest.vkeys)
  const own = { name: 'checkpoint', text: manifest.checkpoint }
  const keys = trustedKeys(retained.keys ?? offered, offered, [...retained.checkpoints, own])
  const checkpoint = checkpointOf(own, keys, manifest.origin, found)
  const kept = retained.checkpoints.flatMap((one) => {
    const values = checkpointOf(one, keys, manifest.origin, found)
    return values ? [{ ...values, name: one.name }] : []
  })
  const proof = await readProof(given, found)
  const { from, to } = manifest.index
  const size = checkpoint?.size ?? 0
  if (checkpoint && to > size) found.add({ kind: 'outside the checkpoint', between: [size, to] })
  const watched = [...new Set(kept.map((one) => one.size))]
    .filter((one) => one > 0 && one < size)
    .toSorted((a, b) => a - b)
  const check = coverCheck(size, hashesOf(proof), watched)
  const isWhole = Object.keys(manifest.filter).length === 0
  let isMisplaced = false
  const leaves = leafList()
  const keepsLeaves = isWhole && retained.hashes !== undefined
  const take = (index: number, leaf: Hash): void => {
    if (keepsLeaves) leaves.add(leaf)
    isMisplaced = !check.add(index, leaf) || isMisplaced
    const expected = retained.hashes && hashAt(retained.hashes, index)
    if (!isWhole && expected?.length === HASH_BYTES && !isSameHash(expected, leaf))
      found.add({ kind: 'changed', index })
  }
  await checkLines(manifest, paths, found, take, reading)
  const isNamed = isWhole && retained.hashes !== undefined && compareLeaves(manifest, retained.hashes, leaves, found)
  const root = check.root()
  if (checkpoint) {
    const isSame = root !== undefined && !isMisplaced && isSameHash(root, checkpoint.root)
    const earlier = consistentWith(manifest, checkpoint, found)
    const proven = (at: number): Hash | undefined =>
      at === size ? checkpoint.root : at === earlier?.size ? earlier.root : isSame ? check.roots.get(at) : undefined
    compareRetained(kept, checkpoint, proven, found)
    const { good, bad } = agreementOf([...kept, checkpoint], (at) => (at === size ? root : check.roots.get(at)))
    const isUnnamed = !isNamed && !found.kept.some(({ index }) => index !== undefined)
    if (!isSame && isUnnamed) found.add({ kind: 'changed', between: [Math.max(from, good), Math.min(to, bad ?? to)] })
    else if (!isSame) found.add({ kind: 'wrong root', about: 'files' })
  }
  const cosigned = cosignedSizes([own, ...retained.checkpoints], keys)
  return { found, events: manifest.events, size, root: checkpoint?.root, cosigned }
}
