import { hash } from 'node:crypto'
import { canonical } from '../../base/canonical.ts'
import { type Entry, parseEntry } from '../entry.ts'
import { membersIn } from '../export/member-tests.ts'
import { type Hash, hashOfBase64, leafOf } from '../hashes.ts'
import { parseSize } from '../note/checkpoint.ts'
import { type CheckpointFault, type VerifiedCheckpoint, verifyCheckpoint } from '../note/signatures.ts'
import type { VerifierKey } from '../note/vkey.ts'
import { base64Of, bytesOfBase64 } from '../platform.ts'
import { verifyInclusion } from './proofs.ts'

/** First line of a proof. */
export const PROOF_HEADER = 'c2sp.org/tlog-proof@v1'

/** Maximum of the extra data in bytes. Readers of the format accept lines of 64 KiB. */
const MAX_EXTRA_BYTES = 48_000
/** Maximum of a proof in bytes: its extra data in base64, 63 hashes, and a checkpoint of the maximum size. */
const MAX_PROOF_BYTES = 262_144
const MAX_HASHES = 63

/** Texts that a proof can leave out. */
export type Withheld = 'data' | 'meta'

/** Inclusion proof of one record, with its entry and its texts. `checkpoint` is the text of the checkpoint. */
type RecordProof = {
  readonly index: number
  readonly entry: string
  readonly data?: string | undefined
  readonly meta?: string | undefined
  readonly hashes: readonly Hash[]
  readonly checkpoint: string
}

/** Returns the extra data: canonical JSON within the limit. Beyond the limit it leaves out data, then metadata. */
const extraOf = ({ entry, data, meta }: RecordProof): string => {
  const fits = [
    { data, entry, meta },
    { entry, meta },
  ]
    .map(canonical)
    .find((text) => Buffer.byteLength(text) <= MAX_EXTRA_BYTES)
  return fits ?? canonical({ entry })
}

/** Returns the text of a proof (C2SP tlog-proof@v1) without the withheld texts of its record. */
export const proofText = (proof: RecordProof, withheld: readonly Withheld[] = []): string => {
  const shown = { ...proof, ...Object.fromEntries(withheld.map((name) => [name, undefined])) }
  const extra = Buffer.from(extraOf(shown)).toString('base64')
  const hashes = proof.hashes.map((hash) => `${base64Of(hash)}\n`).join('')
  return `${PROOF_HEADER}\nextra ${extra}\nindex ${proof.index}\n${hashes}\n${proof.checkpoint}`
}

const parseExtra = (line: string): Pick<RecordProof, 'entry' | 'data' | 'meta'> | undefined => {
  if (!line.startsWith('extra ')) return undefined
  const text = Buffer.from(bytesOfBase64(line.slice('extra '.length)) ?? '').toString()
  const { entry, data, meta, ...others } = membersIn(text) ?? {}
  if (typeof entry !== 'string' || Object.keys(others).length > 0) return undefined
  if (data !== undefined && typeof data !== 'string') return undefined
  if (meta !== undefined && typeof meta !== 'string') return undefined
  return canonical({ data, entry, meta }) === text ? { entry, data, meta } : undefined
}

/** Returns a proof, not verified; undefined if its text is malformed or too large. */
export const parseProof = (text: string): RecordProof | undefined => {
  const end = text.indexOf('\n\n')
  if (end < 0 || text.length > MAX_PROOF_BYTES || Buffer.byteLength(text) > MAX_PROOF_BYTES) return undefined
  const [header, extraLine, indexLine, ...lines] = text.slice(0, end).split('\n')
  const extra = parseExtra(extraLine ?? '')
  const index = indexLine?.startsWith('index ') ? parseSize(indexLine.slice('index '.length)) : undefined
  const hashes = lines.map(hashOfBase64)
  if (header !== PROOF_HEADER || extra === undefined || index === undefined) return undefined
  if (hashes.length > MAX_HASHES || !hashes.every((hash) => hash !== undefined)) return undefined
  return { ...extra, index, hashes, checkpoint: text.slice(end + 2) }
}

/** Cause for which a proof is refused. */
export type ProofFault = CheckpointFault | 'malformed proof' | 'wrong data' | 'wrong meta' | 'not in the tree'

/** Proof whose entry is in the tree of a verified checkpoint, and whose texts are those of the entry. */
export type VerifiedProof = {
  readonly index: number
  readonly entry: Entry
  readonly data: string | undefined
  readonly meta: string | undefined
  readonly checkpoint: VerifiedCheckpoint
}

/** Verifies the text of a proof: the hashes of its texts, its path, and the signature of its checkpoint. */
export const verifyProof = (text: string, keys: readonly VerifierKey[]): VerifiedProof | ProofFault => {
  const proof = parseProof(text)
  const entry = proof && parseEntry(proof.entry)
  if (proof === undefined || entry === undefined) return 'malformed proof'
  const { index, data, meta, hashes } = proof
  if (data !== undefined && hash('sha256', data) !== entry.data) return 'wrong data'
  if (meta !== undefined && hash('sha256', meta) !== entry.meta) return 'wrong meta'
  const checkpoint = verifyCheckpoint(proof.checkpoint, keys)
  if (typeof checkpoint === 'string') return checkpoint
  if (!verifyInclusion(leafOf(proof.entry), index, hashes, checkpoint)) return 'not in the tree'
  return { index, entry, data, meta, checkpoint }
}
