import type { PlacedLine, ReadLinesOf } from './read-line.ts'

const readLine = (line: string): PlacedLine | undefined => {
  try {
    const event = JSON.parse(line) as { readonly metadata?: { readonly sequence?: unknown } } | null
    const index = event?.metadata?.sequence
    const isIndex = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0
    return isIndex ? { index, isExact: JSON.stringify(event) === line } : undefined
  } catch {
    return undefined
  }
}

/** Reads the indexes of the lines of an OCSF export, with which an interrupted export continues. */
export const readOcsf: ReadLinesOf<PlacedLine> = (bytes) => {
  const used = bytes.lastIndexOf(0x0a) + 1
  return { lines: bytes.toString('utf8', 0, used).split('\n').slice(0, -1).map(readLine), used }
}
