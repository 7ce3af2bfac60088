import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import type { ReadLinesOf } from './read-line.ts'

/** Bytes that are read at once, and the maximum length of a line. */
const [CHUNK, LINE] = [1_048_576, 268_435_456]

/** Content of a file on disk: its SHA-256 in hex and its number of bytes, once it is read to its end. */
export type Measured = { sha256: string; bytes: number }

/** Bytes of a file in chunks; notes the length and hash of the whole file. */
export async function* chunksOf(path: string, measured: Measured): AsyncGenerator<Buffer> {
  const file = await open(path, 'r')
  const digest = createHash('sha256')
  try {
    const size = Math.max(1, Math.min(CHUNK, (await file.stat()).size))
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(size), 0, size)
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      digest.update(chunk)
      measured.bytes += bytesRead
      yield chunk
    }
  } finally {
    await file.close()
  }
  measured.sha256 = digest.digest('hex')
}

/** Bytes of the content of a gzip file. Throws `Z_…` errors for a damaged one. */
async function* unzipped(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK })
  const feed = async (): Promise<void> => {
    for await (const chunk of chunks) if (!gunzip.write(chunk)) await new Promise((done) => gunzip.once('drain', done))
    gunzip.end()
  }
  const fed = feed().catch((error: Error) => gunzip.destroy(error))
  for await (const chunk of gunzip) yield chunk as Buffer
  await fed
}

/** Lines of a chunk; `undefined` stands for a malformed line. `used`: bytes of whole lines so far. */
export type FileLines<L> = { readonly lines: readonly (L | undefined)[]; readonly used: number }

/**
 * Reads the lines of an export file in chunks. A rest after the last line end is one malformed line with `used` unchanged.
 * A damaged gzip file ends with a malformed line.
 */
export async function* linesOfFile<L>(
  path: string,
  { gzip, read }: { readonly gzip: boolean; readonly read: ReadLinesOf<L> },
  measured: Measured,
): AsyncGenerator<FileLines<L>> {
  const chunks = chunksOf(path, measured)
  let [rest, used]: [Buffer, number] = [Buffer.alloc(0), 0]
  try {
    for await (const chunk of gzip ? unzipped(chunks) : chunks) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      const found = read(bytes)
      used += found.used
      rest = bytes.subarray(found.used)
      yield { lines: found.lines, used }
      if (rest.length > LINE) break
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_') !== true) throw error
    yield { lines: [undefined], used }
    // The hash of the file needs its other bytes too.
    for await (const chunk of chunks) void chunk
    return
  }
  if (rest.length > 0) yield { lines: [undefined], used }
}
