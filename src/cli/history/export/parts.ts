import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { fail } from '../../../base/failure.ts'
import type { ExportFile } from '../../../verifier/export/manifest.ts'
import type { Measured } from '../../../verifier/export/read-file.ts'
import type { PlacedLine } from '../../../verifier/export/read-line.ts'
import type { Selection } from '../../../verifier/proof/cover.ts'
import type { FileFormat } from './file-formats.ts'
import { fileWriter, PARTIAL, type PartWriter } from './part-writer.ts'
import type { ExportedEvent, ExportRange, FileEncoder } from './sources.ts'

/** Bounds of one file: number of events, and bytes before compression. Undefined: one file for everything. */
export type Split = { readonly events?: number | undefined; readonly bytes?: number | undefined }

export const isSplit = ({ events, bytes }: Split): boolean => events !== undefined || bytes !== undefined

/** Path of the n-th file of an export, from 1. */
export const partPath = (out: string, split: Split, n: number): string =>
  isSplit(split) ? `${out}-${String(n).padStart(5, '0')}` : out

/** Events of a file, and its bytes before compression. */
type Content = { events: number; size: number; firstIndex?: number; lastIndex?: number }

/** Files of an earlier run: whole files, and the content of an unfinished one up to `used` bytes. */
type Earlier = {
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
) => {
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
    add: (event: ExportedEvent): Promise<void> | undefined => {
      const text = fileFormat.text(event)
      if (text === undefined) return undefined
      onWritten(event.index)
      const size = split.bytes === undefined ? text.length : Buffer.byteLength(text)
      return writer === undefined || isFull(size) ? writeSlowly(event, text, size) : write(writer, event, text, size)
    },
    end: async (): Promise<readonly ExportFile[]> => {
      const isLeft = files.length === earlier.files.length && earlier.unfinished !== undefined
      if (writer !== undefined || files.length === 0 || isLeft) await finish()
      return files
    },
    leave: async (): Promise<void> => {
      await writer?.leave()
    },
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** Events of a file in their order; `isWhole` is false if the file ends with a malformed line. */
type ReadContent = Measured & {
  events: number
  used: number
  isWhole: boolean
  firstIndex?: number | undefined
  lastIndex?: number
}

/** Reads a file of an earlier run and adds its indexes to the selection. */
const readPart = async (
  path: string,
  { gzip, fileFormat }: Output,
  { from, to }: ExportRange,
  exported: Selection,
): Promise<ReadContent> => {
  const content: ReadContent = { sha256: '', bytes: 0, events: 0, used: 0, isWhole: true }
  const isNext = (line: PlacedLine | undefined, last: number): line is PlacedLine =>
    line?.isExact === true && line.index >= from && line.index < to && line.index > last
  for await (const { lines, used } of fileFormat.lines(path, gzip, content)) {
    let last = content.lastIndex ?? -1
    for (const line of lines) {
      content.isWhole &&= isNext(line, last)
      if (line) last = line.index
    }
    // A chunk with a malformed line is left out as a whole, and so is what follows.
    if (!content.isWhole) continue
    content.used = used
    for (const line of lines) exported.add(line!.index)
    content.firstIndex ??= lines[0]?.index as number
    content.lastIndex = last
    content.events += lines.length
  }
  return content
}

const damaged = (path: string): never =>
  fail(
    'check',
    `${path} is not a whole file of this export.`,
    'Delete the files of the earlier run, or choose another name.',
  )

/** ReadContent of an unfinished file up to its last whole event. A damaged line in its middle fails. */
const unfinishedPart = async (path: string, output: Output, range: ExportRange, exported: Selection) => {
  const { events, used, firstIndex, lastIndex } = await readPart(path, output, range, exported)
  if (events === 0) return undefined
  const indexes = { ...(firstIndex !== undefined && { firstIndex }), ...(lastIndex !== undefined && { lastIndex }) }
  return { used, size: used, events, ...indexes }
}

/**
 * Reads and checks the files of an earlier run of an export, and adds their indexes to the selection. An unfinished file
 * is continued after its last whole event; a compressed one or one in Parquet is written again.
 */
export const earlierParts = async (output: Output, range: ExportRange, exported: Selection): Promise<Earlier> => {
  const { out, split, gzip } = output
  const files: ExportFile[] = []
  let size = 0
  for (let n = 1; ; n++) {
    const path = partPath(out, split, n)
    if (!(await exists(path))) {
      if (gzip || !output.fileFormat.isContinued || !(await exists(`${path}${PARTIAL}`))) return { files, size }
      const unfinished = await unfinishedPart(`${path}${PARTIAL}`, output, range, exported)
      return unfinished ? { files, size, unfinished } : { files, size }
    }
    const { isWhole, used, events, bytes, sha256, firstIndex, lastIndex } = await readPart(
      path,
      output,
      range,
      exported,
    )
    if (!isWhole || firstIndex === undefined || lastIndex === undefined) return damaged(path)
    files.push({ name: basename(path), bytes, sha256, events, firstIndex, lastIndex })
    size = used
    if (!isSplit(split)) return { files, size }
  }
}
