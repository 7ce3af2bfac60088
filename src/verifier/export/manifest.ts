import {
  canonicalText,
  has,
  isFileName,
  isList,
  isObject,
  isOneOf,
  isSha256,
  isText,
  isWhole,
  type MemberTest,
  optional,
  parseCanonical,
} from './member-tests.ts'

/** Forms of export files that can be made from the log. */
export const EXPORT_FORMATS = ['ndjson', 'csv', 'cloudevents', 'ocsf', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** A file of an export as it is on disk. A file without events has no indexes. */
export type ExportFile = {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly events: number
  readonly firstIndex?: number
  readonly lastIndex?: number
}

/** Hashes of the cover of an export: in the manifest, or in a file with one base64 hash a line. */
type ExportProof =
  | { readonly count: number; readonly hashes: readonly string[] }
  | { readonly count: number; readonly file: string; readonly sha256: string }

/** Statement of the content of an export, its source and its proof (api.md §16.16). */
export type Manifest = {
  readonly schema: 'rollcall.export/v1'
  readonly format: ExportFormat
  readonly gzip: boolean
  readonly personal: 'sealed' | 'open'
  readonly origin: string
  readonly vkeys: readonly string[]
  readonly checkpoint: string
  readonly consistency?: {
    readonly from: { readonly size: number; readonly root: string }
    readonly hashes: readonly string[]
  }
  /** Parameters of the filter with their texts; empty for everything. */
  readonly filter: Readonly<Record<string, string>>
  /** Examined range; `to` is one beyond the last index. */
  readonly index: { readonly from: number; readonly to: number }
  readonly events: number
  readonly files: readonly ExportFile[]
  readonly proof: ExportProof
}

/** Returns the text of a manifest: canonical JSON and a line end. */
export const manifestText = (manifest: Manifest): string => canonicalText(manifest)

const isHashes = isList(isText)
const inManifest = has({ count: isWhole, hashes: isHashes })
const inFile = has({ count: isWhole, file: isFileName, sha256: isSha256 })

const MEMBERS: Readonly<Record<keyof Manifest, MemberTest>> = {
  schema: isOneOf('rollcall.export/v1'),
  format: isOneOf(...EXPORT_FORMATS),
  gzip: isOneOf(true, false),
  personal: isOneOf('sealed', 'open'),
  origin: isText,
  vkeys: isList(isText),
  checkpoint: isText,
  consistency: optional(has({ from: has({ size: isWhole, root: isText }), hashes: isHashes })),
  filter: (value) => isObject(value) && Object.values(value).every(isText),
  index: has({ from: isWhole, to: isWhole }),
  events: isWhole,
  files: isList(
    has({
      name: isFileName,
      bytes: isWhole,
      sha256: isSha256,
      events: isWhole,
      firstIndex: optional(isWhole),
      lastIndex: optional(isWhole),
    }),
  ),
  proof: (value) => inManifest(value) || inFile(value),
}

/** Returns the manifest of a text, or the name of its first member that is missing or wrong. */
export const parseManifest = (text: string): Manifest | { readonly wrong: string } =>
  parseCanonical<Manifest>(text, MEMBERS)

/** Returns the ledger id at the end of an origin. */
export const ledgerIdIn = (origin: string): string => origin.slice(origin.lastIndexOf('/') + 1)
