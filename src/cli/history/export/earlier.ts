import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { fail } from '../../../base/failure.ts'
import type { ExportFile } from '../../../verifier/export/manifest.ts'
import type { Measured } from '../../../verifier/export/read-file.ts'
import type { PlacedLine } from '../../../verifier/export/read-line.ts'
import type { Selection } from '../../../verifier/proof/cover.ts'
import type { FileFormat } from './file-formats.ts'
import { PARTIAL } from './part-writer.ts'
import { type Earlier, isSplit, partPath, type Split } from './parts.ts'
import type { ExportRange } from './sources.ts'

type Output = { readonly out: string; readonly split: Split; readonly gzip: boolean; readonly fileFormat: FileFormat }

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** Events of a file in their order; `isWhole` is false if the file ends with a malformed line. */
type Content = Measured & {
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
): Promise<Content> => {
  const content: Content = { sha256: '', bytes: 0, events: 0, used: 0, isWhole: true }
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

/** Content of an unfinished file up to its last whole event. A damaged line in its middle fails. */
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
