import { Readable } from 'node:stream'
import { constants, createGzip } from 'node:zlib'
import type { Clock } from '../../clock.ts'
import { timeSlicer } from '../../event-loop.ts'
import { chunksOf } from '../wire/pieces.ts'

/** So long the writing of a page may keep others waiting, about. */
const SLICE_MS = 2
/** A page serves all who ask within this time. */
const LIFE_MS = 1000

/** The bytes of texts that come in pieces; while they are put together others run every few milliseconds. */
export const bytesOf = async (texts: Iterable<Iterable<string>>): Promise<readonly Buffer[]> => {
  const pause = timeSlicer(SLICE_MS)
  const bytes: Buffer[] = []
  for (const pieces of texts) {
    for (const chunk of chunksOf(pieces)) {
      bytes.push(chunk)
      await pause()
    }
  }
  return bytes
}

const packed = async (chunks: readonly Buffer[]): Promise<readonly Buffer[]> => {
  const bytes: Buffer[] = []
  for await (const part of Readable.from(chunks).pipe(createGzip({ level: constants.Z_BEST_SPEED })))
    bytes.push(part as Buffer)
  return bytes
}

/** A page ready to be sent: plain, and compressed at the first request for it. */
type Page = { readonly plain: readonly Buffer[]; readonly gzipped: () => Promise<readonly Buffer[]> }

/** The page that `write` makes, at most once a second. Concurrent requests share it. */
export const sharedPage = (write: () => Promise<readonly Buffer[]>, { monotonic }: Clock): (() => Promise<Page>) => {
  let made: { readonly began: number; readonly page: Promise<Page> } | undefined
  let writing = false
  const anew = async (): Promise<Page> => {
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
    if (!made || (!writing && monotonic() - made.began >= LIFE_MS)) made = { began: monotonic(), page: anew() }
    return made.page
  }
}
