import { fail } from '../../base/failure.ts'
import { hashOfBase64 } from '../../ledger/base64.ts'
import { HASH_BYTES } from '../../ledger/hashes.ts'
import { textOfFile } from './checkpoint-file.ts'

/** Returns hashes of 32 bytes one after the other, from one base64 text a line; undefined if a line is malformed. */
export const hashesOfLines = (lines: readonly string[]): Buffer | undefined => {
  const bytes = Buffer.alloc(lines.length * HASH_BYTES)
  for (const [n, line] of lines.entries()) {
    const hash = hashOfBase64(line)
    if (hash === undefined) return undefined
    bytes.set(hash, n * HASH_BYTES)
  }
  return bytes
}

/** Returns the lines of a text, without the end of the last one. */
export const linesOf = (text: string): readonly string[] =>
  text === '' ? [] : text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined)

/** Reads the retained leaves of a log: one base64 hash a line from index 0. */
export const readHashes = async (path: string): Promise<Buffer> =>
  hashesOfLines(linesOf(await textOfFile(path, 'The file of --hashes'))) ??
  fail('usage', `${path} is not a list of hashes: it needs one base64 hash of 32 bytes a line.`)
