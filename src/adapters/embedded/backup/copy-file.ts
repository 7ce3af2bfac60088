import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { insistOnFiles } from '../../../base/regular-file.ts'
import { giveTo } from '../../../base/replace-file.ts'

const CHUNK = 1_048_576
const OWN = 0o600
/** Opening a named pipe with these flags never waits for a writer. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK

/** Number of bytes of a file, and their SHA-256 in hex. */
type FileDigest = { readonly bytes: number; readonly sha256: string }

/**
 * Passes a file in chunks to a function. Returns the digest of the file. The read ends with the first chunk beyond `most`
 * bytes.
 */
const readChunks = async (
  path: string,
  take?: (chunk: Uint8Array) => Promise<unknown>,
  most = Infinity,
): Promise<FileDigest> => {
  insistOnFiles(path)
  const file = await open(path, READ)
  const [hash, buffer] = [createHash('sha256'), Buffer.alloc(CHUNK)]
  try {
    for (let bytes = 0; ; ) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK)
      if (bytesRead === 0 || bytes > most) return { bytes, sha256: hash.digest('hex') }
      const chunk = buffer.subarray(0, bytesRead)
      hash.update(chunk)
      await take?.(chunk)
      bytes += bytesRead
    }
  } finally {
    await file.close()
  }
}

/** Reads a file and returns its digest. */
export const digestOf = (path: string): Promise<FileDigest> => readChunks(path)

/** Writes the content of a file to the disk. */
export const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

const writeAll = async (file: FileHandle, chunk: Uint8Array): Promise<void> => {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten
}

/**
 * Copies a file durably to a path without a file. Only the owner can access the copy: the owner of `like`, if root makes
 * it. Returns the digest of what was copied; the copy of a file of more than `most` bytes ends with the first chunk
 * beyond them.
 */
export const copyFile = async (
  from: string,
  to: string,
  { most, like }: { readonly most?: number; readonly like?: string } = {},
): Promise<FileDigest> => {
  const file = await open(to, 'wx', OWN)
  try {
    await file.chmod(OWN)
    if (like !== undefined) giveTo(file.fd, await stat(like))
    const digest = await readChunks(from, (chunk) => writeAll(file, chunk), most)
    await file.sync()
    return digest
  } finally {
    await file.close()
  }
}
