import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { fail } from '../../base/failure.ts'
import { whyUnread } from '../../base/regular-file.ts'
import { exactTextOfFile, hashesOfLines, linesOf, plainText } from '../../verifier/check/evidence.ts'
import { HASH_BYTES, hashesOf, isSameHash } from '../../verifier/hashes.ts'
import type { Checkpoint } from '../../verifier/note/checkpoint.ts'
import { base64Of } from '../../verifier/platform.ts'
import { TILE_WIDTH } from '../../verifier/tiles.ts'
import { compactRange } from '../../verifier/tree.ts'
import type { Client } from '../client/client.ts'
import { tilesOfService } from './ledger-client.ts'

/** Number of tiles that are requested ahead. */
const AHEAD = 4

/** Whole lines of a file of hashes. An append that was cut off leaves part of a line, which is written again. */
const earlierLines = async (file: string): Promise<string> => {
  if (!existsSync(file)) return ''
  const text = await exactTextOfFile(file, 'The file of hashes', 'usage')
  return text.slice(0, text.lastIndexOf('\n') + 1)
}

async function* leavesFrom(client: Client, { size }: Checkpoint, first: number) {
  const readTile = tilesOfService(client, size)
  const tiles: Promise<Uint8Array>[] = []
  let next = Math.floor(first / TILE_WIDTH)
  for (let index = next; index * TILE_WIDTH < size; index++) {
    for (; tiles.length < AHEAD && next * TILE_WIDTH < size; next++) tiles.push(readTile({ level: 0, index: next }))
    const leaves = [...hashesOf(await tiles.shift()!)]
    yield leaves.slice(Math.max(0, first - index * TILE_WIDTH))
  }
}

const append = async (file: string, { from, text }: { readonly from: number; readonly text: readonly string[] }) => {
  try {
    const handle = await open(file, 'a')
    try {
      await handle.truncate(from)
      await handle.appendFile(text.join(''))
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    fail('failed', `${file} cannot be written (${whyUnread(error)}).`)
  }
}

/**
 * Appends the hashes of events that a file does not have yet, one base64 hash a line from index 0. Fails with exit code 3
 * and writes nothing unless old and new hashes together have the root of the checkpoint. Returns the number of new ones.
 */
export const keepHashes = async (client: Client, file: string, checkpoint: Checkpoint): Promise<number> => {
  const { size, root } = checkpoint
  const earlier = await earlierLines(file)
  const hashes = hashesOfLines(linesOf(plainText(earlier))) ?? fail('usage', `${file} is not a list of hashes.`)
  const known = hashes.length / HASH_BYTES
  if (known > size) fail('check', `The log is shorter than ${file}: ${size} of ${known} events.`)
  const range = compactRange()
  for (const leaf of hashesOf(hashes)) range.append(leaf)
  const text: string[] = []
  for await (const leaves of leavesFrom(client, checkpoint, known)) {
    for (const leaf of leaves) range.append(leaf)
    text.push(leaves.map((leaf) => `${base64Of(leaf)}\n`).join(''))
  }
  if (!isSameHash(range.root(), root))
    fail(
      'check',
      `The hashes of ${file} and of the service do not have the root of the checkpoint.`,
      `Export the events; "rollcall events verify OUT --hashes ${file}" names the first difference.`,
    )
  if (size > known) await append(file, { from: Buffer.byteLength(earlier), text })
  return size - known
}
