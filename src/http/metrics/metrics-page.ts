import { Readable } from 'node:stream'
import { constants, createGzip } from 'node:zlib'
import type { Clock } from '../../base/clock.ts'
import { forEachSliced, timeSlicer } from '../../base/event-loop.ts'
import { chunksOf } from '../wire/pieces.ts'

/** Time slice (ms) for writing a page before other work runs. */
const SLICE_MS = 2
/** Time (ms) for which a page is shared by all requests. */
const LIFE_MS = 1000

/** UTF-8 bytes of texts in pieces; other work runs between time slices. */
export const bytesOf = async (texts: Iterable<Iterable<string>>): Promise<readonly Buffer[]> => {
  const bytes: Buffer[] = []
  const chunks = function* (): Generator<Buffer> {
    for (const pieces of texts) yield* chunksOf(pieces)
  }
  await forEachSliced(chunks(), (chunk) => bytes.push(chunk), timeSlicer(SLICE_MS))
  return bytes
}

const packed = async (chunks: readonly Buffer[]): Promise<readonly Buffer[]> => {
  const bytes: Buffer[] = []
  for await (const part of Readable.from(chunks).pipe(createGzip({ level: constants.Z_BEST_SPEED })))
    bytes.push(part as Buffer)
  return bytes
}

/** A finished page: plain, and compressed on the first request for gzip. */
type Page = { readonly plain: readonly Buffer[]; readonly gzipped: () => Promise<readonly Buffer[]> }

/** Returns the page of `write`, written at most once per second and shared by concurrent requests. */
export const sharedPage = (write: () => Promise<readonly Buffer[]>, { monotonic }: Clock): (() => Promise<Page>) => {
  let made: { readonly began: number; readonly page: Promise<Page> } | undefined
  let writing = false
  const writePage = async (): Promise<Page> => {
    writing = true
    try {
      const plain = await write()
      let zipped: Promise<readonly Buffer[]> | undefined
      return { plain, gzipped: () => (zipped ??= packed(plain)) }
    } catch (error) {
      made = undefined
      throw error
    } finally {
      writing = false
    }
  }
  return () => {
    if (!made || (!writing && monotonic() - made.began >= LIFE_MS)) made = { began: monotonic(), page: writePage() }
    return made.page
  }
}
