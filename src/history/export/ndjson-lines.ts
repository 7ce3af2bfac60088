import { hash } from 'node:crypto'
import { leafOf } from '../../ledger/entry.ts'
import { digitsIn, endOfJson, type ReadLine, type ReadLines, storedBytes, wholeIn } from './read-line.ts'

/** Texts between the members of a line, in their order (api.md §16.5). */
const MEMBERS = ['{"index":', ',"position":"', '","id":"', '","stream":"', '","revision":', ',"type":"', '","time":"']
const [DATA, META, PERSONAL] = ['","data":', ',"meta":', ',"personal":']

const NOT_ASCII = /[\x80-\xff]/

/** Ends of the data and of the metadata in a line that ends at `end`; undefined if it has no such members. */
const endsOfTexts = (text: string, data: number, end: number): readonly [number, number] | undefined => {
  const meta = text.indexOf(META, data)
  if (meta < 0 || meta >= end) return undefined
  // Inside a string the quotes would be escaped, so one match is that of the line.
  if (text.lastIndexOf(META, end) === meta && text.lastIndexOf(PERSONAL, end) < meta) return [meta, end - 1]
  const endOfData = endOfJson(text, data)
  if (endOfData === undefined || !text.startsWith(META, endOfData)) return undefined
  const endOfMeta = endOfJson(text, endOfData + META.length)
  if (endOfMeta === undefined) return undefined
  const isLast = endOfMeta === end - 1 || (text.startsWith(PERSONAL, endOfMeta) && endOfMeta < end)
  return isLast ? [endOfData, endOfMeta] : undefined
}

/** Places at which the values of the members begin; undefined if one is missing. */
const placesOf = (text: string, start: number, end: number): readonly number[] | undefined => {
  const places: number[] = []
  let at = start
  if (!text.startsWith(MEMBERS[0]!, start)) return undefined
  for (const member of MEMBERS) {
    const found = text.indexOf(member, at)
    if (found < 0 || found >= end) return undefined
    at = found + member.length
    places.push(at)
  }
  return places
}

/** Reads one line of bytes; `text` has one unit for each byte. */
const readLine = (bytes: Buffer, text: string, start: number, end: number): ReadLine | undefined => {
  const places = placesOf(text, start, end)
  if (places === undefined) return undefined
  const [indexAt, positionAt, idAt, streamAt, revisionAt, typeAt, timeAt] = places as [
    number,
    ...(readonly [number, number, number, number, number, number]),
  ]
  const endOfTime = text.indexOf(DATA, timeAt)
  if (endOfTime < 0 || endOfTime >= end || text[end - 1] !== '}') return undefined
  const dataAt = endOfTime + DATA.length
  const ends = endsOfTexts(text, dataAt, end)
  const index = wholeIn(text.slice(indexAt, positionAt - MEMBERS[1]!.length))
  const position = digitsIn(text.slice(positionAt, idAt - MEMBERS[2]!.length))
  if (ends === undefined || index === undefined || position === undefined) return undefined
  const data = storedBytes(bytes.subarray(dataAt, ends[0]))
  const meta = storedBytes(bytes.subarray(ends[0] + META.length, ends[1]))
  if (data === undefined || meta === undefined) return undefined
  const isAscii = !NOT_ASCII.test(text.slice(idAt, endOfTime))
  const part = (from: number, to: number) => (isAscii ? text.slice(from, to) : bytes.toString('utf8', from, to))
  const [id, stream] = [part(idAt, streamAt - MEMBERS[3]!.length), part(streamAt, revisionAt - MEMBERS[4]!.length)]
  const revision = part(revisionAt, typeAt - MEMBERS[5]!.length)
  const [type, time] = [part(typeAt, timeAt - MEMBERS[6]!.length), part(timeAt, endOfTime)]
  // Entry and line escape their texts in the same way.
  const entry = `{"data":"${hash('sha256', data)}","id":"${id}","meta":"${hash('sha256', meta)}","revision":${revision},"stream":"${stream}","time":"${time}","type":"${type}","v":1}`
  return {
    index,
    leaf: leafOf(entry),
    isExact: true,
    record: () => ({
      ...(JSON.parse(`{"id":"${id}","stream":"${stream}","type":"${type}","time":"${time}"}`) as Texts),
      revision: digitsIn(revision) ?? 0n,
      position,
      data: data.toString(),
      meta: meta.toString(),
    }),
  }
}
type Texts = { readonly id: string; readonly stream: string; readonly type: string; readonly time: string }

/** Reads the lines of an NDJSON export. The leaf is made of the bytes of the line, without parsing data or metadata. */
export const readNdjson: ReadLines = (bytes) => {
  const text = bytes.toString('latin1')
  const lines: (ReadLine | undefined)[] = []
  let start = 0
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    lines.push(readLine(bytes, text, start, end))
    start = end + 1
  }
  return { lines, used: start }
}
