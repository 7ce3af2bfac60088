import { basename } from 'node:path'
import type { Manifest } from '../../../verifier/export/manifest.ts'
import type { Hash } from '../../../verifier/hashes.ts'
import { base64Of } from '../../../verifier/platform.ts'
import { fileWriter, type PartWriter } from './part-writer.ts'

/** Number of hashes that stand in the manifest itself. */
const IN_MANIFEST = 64

/** Collects the hashes of a cover. They go into the file of the path once there are more than a manifest has. */
export const proofFile = (path: string) => {
  let first: string[] = []
  let count = 0
  let file: PartWriter | undefined
  return {
    add: async (hashes: readonly Hash[]): Promise<void> => {
      const texts = hashes.map(base64Of)
      count += texts.length
      if (count <= IN_MANIFEST) return void first.push(...texts)
      file ??= await fileWriter(path, false)
      await file.write([...first, ...texts].map((text) => `${text}\n`).join(''))
      first = []
    },
    end: async (): Promise<Manifest['proof']> => {
      if (file === undefined) return { count, hashes: first }
      const { sha256 } = await file.end()
      return { count, file: basename(path), sha256 }
    },
  }
}
