import { basename } from 'node:path'
import { fail } from '../../../base/failure.ts'
import type { ExportFile } from '../../../verifier/export/manifest.ts'
import type { FileFormat } from './file-formats.ts'
import { fileWriter, type PartWriter } from './part-writer.ts'
import type { ExportedEvent, FileEncoder } from './sources.ts'

/** Bounds of one file: number of events, and bytes before compression. Undefined: one file for everything. */
export type Split = { readonly events?: number | undefined; readonly bytes?: number | undefined }

export const isSplit = ({ events, bytes }: Split): boolean => events !== undefined || bytes !== undefined

/** Path of the n-th file of an export, from 1. */
export const partPath = (out: string, split: Split, n: number): string =>
  isSplit(split) ? `${out}-${String(n).padStart(5, '0')}` : out

/** Events of a file, and its bytes before compression. */
type Content = { events: number; size: number; firstIndex?: number; lastIndex?: number }

/** Files of an earlier run: whole files, and the content of an unfinished one up to `used` bytes. */
export type Earlier = {
  readonly files: readonly ExportFile[]
  /** Bytes of the last whole file before compression. */
  readonly size: number
  readonly unfinished?: Readonly<Content> & { readonly used: number }
}

type Output = {
  readonly out: string
  readonly split: Split
  readonly gzip: boolean
  readonly fileFormat: FileFormat
  /** Replaces files by one stream. */
  readonly stream?: PartWriter
}

type Parts = {
  readonly add: (event: ExportedEvent) => Promise<void> | undefined
  /** Ends the last file and returns all of them. */
  readonly end: () => Promise<readonly ExportFile[]>
  /** Leaves the last file unfinished. */
  readonly leave: () => Promise<void>
}

const grown = (name: string): never =>
  fail(
    'conflict',
    `${name} is whole, but the log has grown since.`,
    'Repeat the command with the --before-index that the earlier run printed, or export to files with a different name.',
  )

/**
 * Writes events into the files of an export, whole events only. The first file exists even without events. `onWritten`
 * receives the index of each event that the format does not leave out.
 */
export const exportParts = (
  { out, split, gzip, fileFormat, stream }: Output,
  earlier: Earlier,
  onWritten: (index: number) => void,
): Parts => {
  const files: ExportFile[] = [...earlier.files]
  let writer: PartWriter | undefined
  let encoder: FileEncoder = fileFormat.encoder()
  // With whole files only, the next event begins a new file, so the last one must be full.
  const last = earlier.unfinished ? undefined : earlier.files.at(-1)
  let content: Content = { events: last?.events ?? 0, size: earlier.size }

  const begin = async (): Promise<PartWriter> => {
    const kept = files.length === earlier.files.length ? earlier.unfinished : undefined
    const begun = stream ?? (await fileWriter(partPath(out, split, files.length + 1), gzip, kept?.used))
    const isKept = kept !== undefined && kept.used > 0
    content = isKept ? { ...kept } : { events: 0, size: fileFormat.headBytes }
    encoder = fileFormat.encoder()
    if (!isKept) await begun.write(encoder.head())
    writer = begun
    return begun
  }
  const finish = async (): Promise<void> => {
    const current = writer ?? (await begin())
    const name = stream ? '-' : basename(partPath(out, split, files.length + 1))
    const { size: _, ...shown } = content
    writer = undefined
    await current.write(encoder.end())
    files.push({ name, ...(await current.end()), ...shown })
  }
  const isFull = (size: number): boolean =>
    content.events > 0 &&
    (content.events >= (split.events ?? Infinity) || content.size + size > (split.bytes ?? Infinity))
  const write = (to: PartWriter, event: ExportedEvent, text: string, size: number) => {
    content.firstIndex ??= event.index
    content.lastIndex = event.index
    content.events++
    content.size += size
    return to.write(encoder.add(event, text))
  }
  const writeSlowly = async (event: ExportedEvent, text: string, size: number): Promise<void> => {
    if (writer === undefined) {
      if (last && files.length === earlier.files.length && !isFull(size)) grown(last.name)
      await begin()
    }
    if (isFull(size)) {
      await finish()
      await begin()
    }
    await write(writer!, event, text, size)
  }
  return {
    add: (event) => {
      const text = fileFormat.text(event)
      if (text === undefined) return undefined
      onWritten(event.index)
      const size = split.bytes === undefined ? text.length : Buffer.byteLength(text)
      return writer === undefined || isFull(size) ? writeSlowly(event, text, size) : write(writer, event, text, size)
    },
    end: async () => {
      const isLeft = files.length === earlier.files.length && earlier.unfinished !== undefined
      if (writer !== undefined || files.length === 0 || isLeft) await finish()
      return files
    },
    leave: async () => {
      await writer?.leave()
    },
  }
}
