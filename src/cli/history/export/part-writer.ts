import { createHash } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { createGzip, type Gzip } from 'node:zlib'

/** Bytes that are compressed and written at once. */
const CHUNK = 65_536
/** Place of the operating system in the head of a gzip file, and the value for an unknown one (RFC 1952 §2.3). */
const [OS_AT, OS_UNKNOWN] = [9, 255]

type Sink = { readonly write: (bytes: Buffer) => Promise<void>; readonly end: () => Promise<void> }

/** Compresses so that the same bytes give the same file: without name, time and operating system. */
const zipped = (sink: Sink): Sink => {
  const gzip: Gzip = createGzip({ chunkSize: CHUNK })
  const ready: Buffer[] = []
  let isFirst = true
  gzip.on('data', (chunk: Buffer) => ready.push(chunk))
  const drain = async () => {
    for (let chunk = ready.shift(); chunk !== undefined; chunk = ready.shift()) {
      if (isFirst) chunk[OS_AT] = OS_UNKNOWN
      isFirst = false
      await sink.write(chunk)
    }
  }
  return {
    write: async (bytes) => {
      await new Promise<void>((done, failed) => gzip.write(bytes, (error) => (error ? failed(error) : done())))
      await drain()
    },
    end: async () => {
      const ended = new Promise((done, failed) => gzip.once('end', done).once('error', failed))
      gzip.end()
      await ended
      await drain()
      await sink.end()
    },
  }
}

const measuring = (sink: Sink) => {
  const digest = createHash('sha256')
  let bytes = 0
  return {
    write: (chunk: Buffer): Promise<void> => {
      digest.update(chunk)
      bytes += chunk.length
      return sink.write(chunk)
    },
    end: sink.end,
    /** Counts bytes that are in the file already. */
    skip: (chunk: Buffer): void => {
      digest.update(chunk)
      bytes += chunk.length
    },
    measured: () => ({ bytes, sha256: digest.digest('hex') }),
  }
}

/** One file of an export while it is written. */
export type PartWriter = {
  readonly write: (text: string | Buffer) => Promise<void> | undefined
  /** Writes the rest and returns length and hash. A file then has its name. */
  readonly end: () => Promise<{ readonly bytes: number; readonly sha256: string }>
  /** Writes the rest, so that the part can be continued; keeps the name of an unfinished file. */
  readonly leave: () => Promise<void>
}

export const PARTIAL = '.partial'

const writerTo = (
  sink: Sink,
  gzip: boolean,
  prepare: (measure: ReturnType<typeof measuring>) => Promise<void>,
  finish: (isWhole: boolean) => Promise<void>,
): PartWriter => {
  const measure = measuring(sink)
  const target = gzip ? zipped(measure) : measure
  const prepared = prepare(measure)
  let held = ''
  const flush = async (size: number): Promise<void> => {
    await prepared
    if (held.length < size) return
    const text = held
    held = ''
    await target.write(Buffer.from(text))
  }
  return {
    write: (text) => {
      if (typeof text !== 'string') return flush(1).then(() => target.write(text))
      held += text
      return held.length < CHUNK ? undefined : flush(CHUNK)
    },
    end: async () => {
      await flush(1)
      await target.end()
      await finish(true)
      return measure.measured()
    },
    leave: async () => {
      if (!gzip) await flush(1)
      await finish(false)
    },
  }
}

/**
 * Writes the file of a path under the name of an unfinished file, and renames it when it is whole and synced. `kept`:
 * bytes at the beginning of an unfinished file to continue after.
 */
export const fileWriter = async (path: string, gzip: boolean, kept = 0): Promise<PartWriter> => {
  const partial = `${path}${PARTIAL}`
  const file = await open(partial, kept > 0 ? 'r+' : 'w')
  const prepare = async (measure: ReturnType<typeof measuring>) => {
    for (let at = 0; at < kept; ) {
      const size = Math.min(CHUNK, kept - at)
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(size), 0, size, at)
      if (bytesRead === 0) break
      measure.skip(buffer.subarray(0, bytesRead))
      at += bytesRead
    }
    await file.truncate(kept)
  }
  let at = kept
  const sink: Sink = {
    write: async (bytes) => {
      for (let from = 0; from < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, from, bytes.length - from, at)
        from += bytesWritten
        at += bytesWritten
      }
    },
    end: () => file.sync(),
  }
  return writerTo(sink, gzip, prepare, async (isWhole) => {
    await file.close()
    if (isWhole) await rename(partial, path)
  })
}

/** Writes to a stream, such as standard output. */
export const streamWriter = (stream: NodeJS.WritableStream, gzip: boolean): PartWriter => {
  const sink: Sink = {
    write: (bytes) =>
      new Promise((done, failed) => void stream.write(bytes, (error) => (error ? failed(error) : done()))),
    end: async () => undefined,
  }
  return writerTo(
    sink,
    gzip,
    async () => undefined,
    async () => undefined,
  )
}
