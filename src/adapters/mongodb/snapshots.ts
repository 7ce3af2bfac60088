import { randomUUID } from 'node:crypto'
import { Binary, type Db } from 'mongodb'
import type { Snapshots } from '../../projections/snapshots.ts'
import type { Calls } from './calls.ts'

/** The head says which snapshot is the one and of how many chunks it is; a chunk holds bytes of one snapshot. */
type Stored = { readonly _id: string; readonly of: string; readonly chunks?: number; readonly data?: Binary }

const HEAD = 'head'
const CHUNK = 4 * 1_048_576

/** The same bytes in chunks of one size, but for the last. */
async function* inChunks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const part of parts) {
    for (let at = 0; at < part.length; ) {
      const piece = part.subarray(at, at + CHUNK - bytes)
      at += piece.length
      bytes += piece.length
      waiting.push(piece)
      if (bytes < CHUNK) continue
      yield Buffer.concat(waiting)
      ;[waiting, bytes] = [[], 0]
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

/** A snapshot in a collection: its chunks first, then the head that names them; chunks that no head names go with the next one. */
export const mongoSnapshots = (db: Db, calls: Calls): Snapshots => {
  const stored = db.collection<Stored>('snapshots')
  const find = (_id: string) => calls.call('batch', (limits) => stored.findOne({ _id }, limits))
  const drop = (of: string) => calls.call('batch', () => stored.deleteMany({ of: { $ne: of } }))
  return {
    read: async () => {
      const head = await find(HEAD)
      if (!head) return undefined
      const chunks: Uint8Array[] = []
      for (let n = 0; n < head.chunks!; n++) {
        const chunk = await find(`${head.of}/${n}`)
        chunks.push(chunk?.data?.value() ?? Buffer.alloc(0))
      }
      return Buffer.concat(chunks)
    },
    write: async (parts) => {
      const of = randomUUID()
      let chunks = 0
      for await (const chunk of inChunks(parts)) {
        const _id = `${of}/${chunks++}`
        await calls.call('batch', () => stored.insertOne({ _id, of, data: new Binary(chunk) }))
      }
      await calls.call('batch', () => stored.replaceOne({ _id: HEAD }, { of, chunks }, { upsert: true }))
      await drop(of)
    },
    remove: async () => void (await drop('')),
  }
}
