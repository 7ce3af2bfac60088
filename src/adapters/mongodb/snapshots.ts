import { randomUUID } from 'node:crypto'
import { Binary, type Db } from 'mongodb'
import type { Snapshots } from '../../projections/snapshots.ts'
import type { Calls } from './calls.ts'

/** The head names the current snapshot and its number of chunks; a chunk holds bytes of one snapshot. */
type Stored = { readonly _id: string; readonly of: string; readonly chunks?: number; readonly data?: Binary }

const HEAD = 'head'
const CHUNK = 4 * 1_048_576

/** Splits the bytes into chunks of equal size; the last one may be smaller. */
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

/**
 * Snapshot in a collection. The chunks of a snapshot are written first, then the head that names them; the next write
 * removes chunks without a head.
 */
export const mongoSnapshots = (db: Db, calls: Calls): Snapshots => {
  const stored = db.collection<Stored>('snapshots')
  const find = (_id: string) => calls.call('batch', (limits) => stored.findOne({ _id }, limits))
  const drop = (of: string) => calls.call('bulk', () => stored.deleteMany({ of: { $ne: of } }))
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
        await calls.call('bulk', () => stored.insertOne({ _id, of, data: new Binary(chunk) }))
      }
      await calls.call('bulk', () => stored.replaceOne({ _id: HEAD }, { of, chunks }, { upsert: true }))
      await drop(of)
    },
    remove: async () => void (await drop('')),
  }
}
