import { canonical } from '../../events/json/canonical.ts'

/** Forms of export files that can be made from the log. */
export const EXPORT_FORMATS = ['ndjson', 'csv', 'cloudevents'] as const
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
export const manifestText = (manifest: Manifest): string => `${canonical(manifest)}\n`

type Members = Readonly<Record<string, unknown>>
type Test = (value: unknown) => boolean

const isText: Test = (value) => typeof value === 'string'
const isWhole: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const isList =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test)
const isOneOf =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value)
const optional =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value)
const has =
  (members: Readonly<Record<string, Test>>): Test =>
  (value) =>
    isObject(value) && Object.entries(members).every(([name, test]) => test(value[name]))

/** Name of a file in the folder of the manifest. */
const isFileName: Test = (value) => typeof value === 'string' && /^[^/\\\0]+$/.test(value) && !/^\.\.?$/.test(value)
const isSha256: Test = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
const isHashes = isList(isText)
const inManifest = has({ count: isWhole, hashes: isHashes })
const inFile = has({ count: isWhole, file: isFileName, sha256: isSha256 })

const MEMBERS: Readonly<Record<keyof Manifest, Test>> = {
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
export const parseManifest = (text: string): Manifest | { readonly wrong: string } => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { wrong: 'JSON' }
  }
  if (!isObject(value)) return { wrong: 'JSON' }
  const wrong = Object.entries(MEMBERS).find(([name, test]) => !test(value[name]))?.[0]
  if (wrong !== undefined) return { wrong }
  const manifest = value as unknown as Manifest
  return manifestText(manifest) === text ? manifest : { wrong: 'canonical form' }
}

/** Returns the ledger id at the end of an origin. */
export const ledgerIdIn = (origin: string): string => origin.slice(origin.lastIndexOf('/') + 1)
