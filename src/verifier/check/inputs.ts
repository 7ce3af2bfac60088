import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fail } from '../../base/failure.ts'
import { type Manifest, parseManifest } from '../export/manifest.ts'
import { parseVkey } from '../note/vkey.ts'
import { exactTextOfFile, hashesOfLines, linesOf } from './evidence.ts'
import type { Findings } from './findings.ts'

/** End of the name of a manifest. */
export const MANIFEST = '.manifest.json'

/** A manifest, and the paths of the files that it names. */
export type GivenExport = { readonly manifest: Manifest; readonly folder: string; readonly paths: readonly string[] }

/** Reads the manifest of an export. FILE is its name, its only data file, or the manifest. */
export const readManifest = async (file: string | undefined, given: string | undefined): Promise<GivenExport> => {
  const isManifest = file?.endsWith(MANIFEST) === true && given === undefined
  const path = given ?? (file === undefined || isManifest ? file : `${file}${MANIFEST}`)
  if (path === undefined) return fail('usage', 'Name the export FILE, or --data or --store.')
  const manifest = parseManifest(await exactTextOfFile(path, 'The manifest'))
  const refuse = (member: string) =>
    fail('check', `${path} is not a manifest of an export: ${member} is missing or wrong.`)
  if ('wrong' in manifest) return refuse(manifest.wrong)
  if (!manifest.vkeys.every((vkey) => parseVkey(vkey.trim()))) return refuse('vkeys')
  const folder = dirname(path)
  const [only, ...others] = manifest.files
  const isRenamed = file !== undefined && !isManifest && only !== undefined && others.length === 0 && existsSync(file)
  const paths = isRenamed ? [file] : manifest.files.map(({ name }) => join(folder, name))
  const missing = paths.find((one) => !existsSync(one))
  if (missing !== undefined) fail('notFound', `The manifest names the file ${missing}, which does not exist.`)
  return { manifest, folder, paths }
}

/** Reads the hashes of the proof of an export, and notes its faults. */
export const readProof = async ({ manifest, folder }: GivenExport, found: Findings): Promise<Buffer> => {
  const { proof } = manifest
  let lines: readonly string[]
  if ('hashes' in proof) lines = proof.hashes
  else {
    const path = join(folder, proof.file)
    const text = await exactTextOfFile(path, 'The proof')
    if (createHash('sha256').update(text).digest('hex') !== proof.sha256)
      found.add({ kind: 'wrong file hash', about: basename(path) })
    lines = linesOf(text)
  }
  const hashes = hashesOfLines(lines)
  if (hashes === undefined || lines.length !== proof.count) found.add({ kind: 'wrong proof', about: 'proof' })
  return hashes ?? Buffer.alloc(0)
}
