import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fail } from '../../../failure.ts'
import { type Manifest, parseManifest } from '../../../history/export/manifest.ts'
import { hashOfBase64 } from '../../../ledger/base64.ts'
import { HASH_BYTES, type Hash } from '../../../ledger/hashes.ts'
import { textOfFile } from '../../ledger/checkpoint-file.ts'
import type { Findings } from './findings.ts'

const MANIFEST = '.manifest.json'

/** A manifest, and the paths of the files that it names. */
export type GivenExport = { readonly manifest: Manifest; readonly folder: string; readonly paths: readonly string[] }

/** Reads the manifest of an export. FILE is its name, its only data file, or the manifest. */
export const readManifest = async (file: string | undefined, given: string | undefined): Promise<GivenExport> => {
  const isManifest = file?.endsWith(MANIFEST) === true && given === undefined
  const path = given ?? (file === undefined || isManifest ? file : `${file}${MANIFEST}`)
  if (path === undefined) return fail('usage', 'Name the export FILE, or --data or --store.')
  const manifest = parseManifest(await textOfFile(path, 'The manifest'))
  if ('wrong' in manifest)
    return fail('check', `${path} is not a manifest of an export: ${manifest.wrong} is missing or wrong.`)
  const folder = dirname(path)
  const [only, ...others] = manifest.files
  const isRenamed = file !== undefined && !isManifest && only !== undefined && others.length === 0 && existsSync(file)
  const paths = isRenamed ? [file] : manifest.files.map(({ name }) => join(folder, name))
  const missing = paths.find((one) => !existsSync(one))
  if (missing !== undefined) fail('notFound', `There is no ${missing}, which the manifest names.`)
  return { manifest, folder, paths }
}

/** Hashes of 32 bytes one after the other, from one base64 text a line. Undefined if a line is something else. */
const hashesIn = (lines: readonly string[]): Buffer | undefined => {
  const bytes = Buffer.alloc(lines.length * HASH_BYTES)
  for (const [n, line] of lines.entries()) {
    const hash = hashOfBase64(line)
    if (hash === undefined) return undefined
    bytes.set(hash, n * HASH_BYTES)
  }
  return bytes
}

const linesOf = (text: string): readonly string[] => text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined)

/** Reads the retained leaves of a log: one base64 hash a line from index 0. */
export const readHashes = async (path: string): Promise<Buffer> =>
  hashesIn(linesOf(await textOfFile(path, 'The file of --hashes'))) ??
  fail('usage', `${path} is not a list of hashes: it needs one base64 hash of 32 bytes a line.`)

/** Yields hashes of 32 bytes. */
export function* hashesOf(bytes: Buffer): Generator<Hash> {
  for (let at = 0; at < bytes.length; at += HASH_BYTES) yield bytes.subarray(at, at + HASH_BYTES)
}

/** Reads the hashes of the proof of an export, and notes its faults. */
export const readProof = async ({ manifest, folder }: GivenExport, found: Findings): Promise<Buffer> => {
  const { proof } = manifest
  let lines: readonly string[]
  if ('hashes' in proof) lines = proof.hashes
  else {
    const path = join(folder, proof.file)
    const text = await textOfFile(path, 'The proof')
    if (createHash('sha256').update(text).digest('hex') !== proof.sha256)
      found.add({ kind: 'wrong file hash', about: basename(path) })
    lines = linesOf(text)
  }
  const hashes = hashesIn(lines)
  if (hashes === undefined || lines.length !== proof.count) found.add({ kind: 'wrong proof', about: 'proof' })
  return hashes ?? Buffer.alloc(0)
}
