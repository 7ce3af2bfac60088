import { generateKeyPairSync, type KeyObject } from 'node:crypto'

/** A full tile of the tree (C2SP tlog-tiles), with the last event under it. */
export type StoredTile = {
  readonly level: number
  readonly n: number
  /** 256 hashes of 32 bytes. */
  readonly hashes: Uint8Array
  /** Hash of the subtree over them. */
  readonly root: Uint8Array
  readonly position: bigint
  readonly event: string
  /** MAC over all other members. */
  readonly mac: Uint8Array
}

/**
 * Newest checkpoint of a ledger. Without `text` the pair of size and root is intended: it is decided and may be signed
 * already, and `mac` proves that the service wrote it. `keep` marks the first checkpoint of a key, `copy` a record in a
 * backup. `witnessed` is a checkpoint of the ledger that a witness has and the log did not extend.
 */
export type SealedRecord = {
  readonly ledger: string
  readonly origin: string
  readonly size: number
  /** Root in base64. */
  readonly root: string
  readonly text?: string
  /** MAC in base64. */
  readonly mac?: string
  /** Time of the seal, RFC 3339. */
  readonly sealedAt: string
  readonly keep?: boolean
  readonly copy?: boolean
  readonly witnessed?: WitnessedCheckpoint
  /** Leaf hashes after the last full tile, with their MAC (`tiles/tile-macs.ts`). Earlier versions write no tail. */
  readonly tail?: string
}

const isSize = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const areTexts = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string')
const isWitnessed = (value: WitnessedCheckpoint | null): boolean =>
  value !== null && isSize(value.size) && areTexts(value.root, value.text, value.witness)

/** Returns the sealed record in a JSON text. Throws a SyntaxError that names the store for any other text. */
export const sealedRecordOf = (text: string, name: string): SealedRecord => {
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch {
    // Reported below.
  }
  const { ledger, origin, size, root, sealedAt, witnessed, ...others } = (record ?? {}) as Partial<SealedRecord>
  const { text: signed = '', mac = '', tail = '' } = others
  const isWhole = areTexts(ledger, origin, root, sealedAt, signed, mac, tail) && isSize(size)
  if (!isWhole || (witnessed !== undefined && !isWitnessed(witnessed)))
    throw new SyntaxError(`${name} does not hold the sealed record of a ledger`)
  return record as SealedRecord
}

/** A checkpoint with a valid signature of the ledger, and the name of the witness that has it. */
export type WitnessedCheckpoint = {
  readonly size: number
  readonly root: string
  readonly text: string
  readonly witness: string
}

/** The sealed record of the store, and its copy in a file next to the signing key. */
export type SealedCopies = { readonly stored?: SealedRecord; readonly nextToKey?: SealedRecord }

/** The newest of several sealed records. The largest counts; of two with the same size, the one with a text. */
export const newestRecord = (records: readonly SealedRecord[]): SealedRecord | undefined => {
  const rank = ({ size, text }: SealedRecord) => 2 * size + (text === undefined ? 0 : 1)
  return records.toSorted((a, b) => rank(b) - rank(a))[0]
}

/** A checkpoint that is kept. `keep` excludes it from the removal of old checkpoints. */
export type KeptCheckpoint = Required<Pick<SealedRecord, 'size' | 'root' | 'text' | 'sealedAt' | 'keep'>>

/** Result of the last comparison of the whole log with the tree. */
export type ScrubResult = {
  readonly at: string
  /** Number of events compared. */
  readonly through: number
  readonly ok: boolean
  readonly firstBad?: { readonly index: number; readonly kind: string }
}

/**
 * PORT. Storage of the ledger, apart from the log. Every write is durable before it resolves. Failures: Refusal
 * `backend_unavailable`.
 */
export type LedgerStore = {
  /** Stores full tiles, in place of existing ones. */
  readonly putTiles: (tiles: readonly StoredTile[]) => Promise<void>
  readonly tile: (level: number, n: number) => Promise<StoredTile | undefined>
  /** At most 256 tiles of a level from `n` on, in order, without their hashes. */
  readonly tileRoots: (level: number, n: number) => Promise<readonly Omit<StoredTile, 'hashes'>[]>
  /** Number of the last tile of a level; undefined if there is none. */
  readonly lastTile: (level: number) => Promise<number | undefined>
  readonly dropTiles: () => Promise<void>
  readonly sealed: () => Promise<SealedCopies>
  /** Stores the first sealed record, unless there is one. */
  readonly begin: (record: SealedRecord) => Promise<void>
  /** Replaces the sealed record if it has this ledger, size and text. Returns false otherwise. */
  readonly advance: (from: Pick<SealedRecord, 'ledger' | 'size' | 'text'>, to: SealedRecord) => Promise<boolean>
  /**
   * Removes tiles, checkpoints and the result of the scrub, then replaces the sealed record of any ledger: an operator's
   * decision.
   */
  readonly startOver: (record: SealedRecord) => Promise<void>
  /**
   * Keeps a checkpoint. One of the same size is replaced, but a text that begins with the new one remains, because it
   * has further signatures.
   */
  readonly keep: (checkpoint: KeptCheckpoint) => Promise<void>
  /** Kept checkpoints smaller than `below`, the largest first. */
  readonly checkpoints: (below: number, limit: number) => Promise<readonly KeptCheckpoint[]>
  readonly checkpoint: (size: number) => Promise<KeptCheckpoint | undefined>
  readonly dropCheckpoints: (sizes: readonly number[]) => Promise<void>
  readonly scrubbed: () => Promise<ScrubResult | undefined>
  readonly writeScrub: (result: ScrubResult) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Replaces the sealed record `before` of a store, or stores the first one. Returns false if another process stored a
 * record since `before` was read.
 */
export const replaceSealed = async (
  store: Pick<LedgerStore, 'advance' | 'begin' | 'sealed'>,
  before: SealedRecord | undefined,
  record: SealedRecord,
): Promise<boolean> => {
  if (before) return store.advance(before, record)
  await store.begin(record)
  const { stored } = await store.sealed()
  return stored?.ledger === record.ledger && stored.size === record.size && stored.text === record.text
}

/** PORT. The private key (Ed25519) that signs checkpoints. */
export type SigningKeys = {
  /** The key of this instance; undefined if it has none. Throws if it is unreadable. */
  readonly read: () => Promise<KeyObject | undefined>
  /** The key. It is created durably if there is none. */
  readonly open: () => Promise<KeyObject>
  /** The key that is to replace it; undefined if there is none. */
  readonly next: () => Promise<KeyObject | undefined>
  /** Stores the next key durably, in place of an earlier one. */
  readonly prepare: (key: KeyObject) => Promise<void>
  /** Makes the next key the key, and destroys the one before. After a crash, a repeated call completes it. */
  readonly promote: () => Promise<void>
}

/** The storage of the ledger with its signing key. */
export type LedgerPorts = { readonly store: LedgerStore; readonly keys: SigningKeys }

/** Creates an Ed25519 key. */
export const newSigningKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey

/** Text of a private key: PKCS#8 PEM. */
export const pemOf = (key: KeyObject): string => String(key.export({ type: 'pkcs8', format: 'pem' }))
