import { hash } from 'node:crypto'
import { type StoredRecord } from '../entry.ts'
import { leafOf } from '../hashes.ts'
import { parseSize } from '../note/checkpoint.ts'
import {
  digitsIn,
  endOfJson,
  personalMember,
  type ReadLine,
  type ReadLines,
  storedBytes,
  storedText,
} from './read-line.ts'

/** Line of an event in NDJSON. Without opened personal data it depends on the record and its index alone. */
export const eventLine = ({ index, record }: IndexedRecord, opened?: object): string => {
  const { id, stream, revision, type, time, position, data, meta } = record
  const [streamText, typeText] = [JSON.stringify(stream), JSON.stringify(type)]
  return `{"index":${index},"position":"${position}","id":${JSON.stringify(id)},"stream":${streamText},"revision":${revision},"type":${typeText},"time":${JSON.stringify(time)},"data":${storedText(data)},"meta":${storedText(meta)}${personalMember(opened)}}\n`
}
type IndexedRecord = { readonly index: number; readonly record: StoredRecord }

/** Texts between the members of a line, in their order (api.md §16.5). */
const MEMBERS = ['{"index":', ',"position":"', '","id":"', '","stream":"', '","revision":', ',"type":"', '","time":"']
const [DATA, META, PERSONAL] = ['","data":', ',"meta":', ',"personal":']

const NOT_ASCII = /[\x80-\xff]/

/** Ends of the data and of the metadata in a line; undefined if it has no such members. */
const endsOfTexts = (line: string, data: number): readonly [number, number] | undefined => {
  const meta = line.indexOf(META, data)
  if (meta < 0) return undefined
  // Inside a string the quotes would be escaped, so one match is that of the line.
  if (line.lastIndexOf(META) === meta && line.indexOf(PERSONAL, meta) < 0) return [meta, line.length - 1]
  const endOfData = endOfJson(line, data)
  if (endOfData === undefined || !line.startsWith(META, endOfData)) return undefined
  const endOfMeta = endOfJson(line, endOfData + META.length)
  if (endOfMeta === undefined) return undefined
  const isLast = endOfMeta === line.length - 1 || line.startsWith(PERSONAL, endOfMeta)
  return isLast ? [endOfData, endOfMeta] : undefined
}

/** Places at which the values of the members begin; undefined if one is missing. */
const placesOf = (line: string): readonly number[] | undefined => {
  const places: number[] = []
  let at = 0
  if (!line.startsWith(MEMBERS[0]!)) return undefined
  for (const member of MEMBERS) {
    const found = line.indexOf(member, at)
    if (found < 0) return undefined
    at = found + member.length
    places.push(at)
  }
  return places
}

type Places = readonly [number, number, number, number, number, number, number]

/** True for an opened field (api.md §16.2): its status, and its value if it is open. */
const isOpenedField = (field: unknown): boolean => {
  const { status, ...more } = (field ?? {}) as { readonly status?: unknown }
  const names = Object.keys(more).join()
  return status === 'open' ? names === 'value' : (status === 'erased' || status === 'lost') && names === ''
}

/** True if a text is the member of opened personal data, in the form in which the service writes it. */
const isPersonalMember = (text: string): boolean => {
  if (!text.startsWith(PERSONAL)) return false
  const json = text.slice(PERSONAL.length)
  try {
    const fields = JSON.parse(json) as Readonly<Record<string, unknown>> | null
    const isWhole =
      typeof fields === 'object' && fields !== null && !Array.isArray(fields) && JSON.stringify(fields) === json
    return isWhole && Object.values(fields).every(isOpenedField)
  } catch {
    return false
  }
}

/** Reads one line; `line` has one unit for each of its bytes. */
const readLine = (bytes: Buffer, line: string, isOpened: boolean): ReadLine | undefined => {
  const places = placesOf(line)
  if (places === undefined) return undefined
  const [indexAt, positionAt, idAt, streamAt, revisionAt, typeAt, timeAt] = places as unknown as Places
  const endOfTime = line.indexOf(DATA, timeAt)
  if (endOfTime < 0 || !line.endsWith('}')) return undefined
  const dataAt = endOfTime + DATA.length
  const ends = endsOfTexts(line, dataAt)
  const index = parseSize(line.slice(indexAt, positionAt - MEMBERS[1]!.length))
  const position = digitsIn(line.slice(positionAt, idAt - MEMBERS[2]!.length))
  if (ends === undefined || index === undefined || position === undefined) return undefined
  const data = storedBytes(bytes.subarray(dataAt, ends[0]))
  const meta = storedBytes(bytes.subarray(ends[0] + META.length, ends[1]))
  if (data === undefined || meta === undefined) return undefined
  const isAscii = !NOT_ASCII.test(line.slice(idAt, endOfTime))
  const part = (from: number, to: number) => (isAscii ? line.slice(from, to) : bytes.toString('utf8', from, to))
  const [id, stream] = [part(idAt, streamAt - MEMBERS[3]!.length), part(streamAt, revisionAt - MEMBERS[4]!.length)]
  const revision = part(revisionAt, typeAt - MEMBERS[5]!.length)
  const [type, time] = [part(typeAt, timeAt - MEMBERS[6]!.length), part(timeAt, endOfTime)]
  // Entry and line escape their texts in the same way.
  const entry = `{"data":"${hash('sha256', data)}","id":"${id}","meta":"${hash('sha256', meta)}","revision":${revision},"stream":"${stream}","time":"${time}","type":"${type}","v":1}`
  return {
    index,
    leaf: leafOf(entry),
    isExact: isOpened ? isPersonalMember(line.slice(ends[1], -1)) : ends[1] === line.length - 1,
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

/**
 * Returns the reader of an NDJSON export; each line of an opened one has the member of opened personal data. The leaf is
 * made of the bytes of the line, without parsing data or metadata.
 */
const ndjsonReader =
  (isOpened: boolean): ReadLines =>
  (bytes) => {
    const text = bytes.toString('latin1')
    const lines: (ReadLine | undefined)[] = []
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      lines.push(readLine(bytes.subarray(start, end), text.slice(start, end), isOpened))
      start = end + 1
    }
    return { lines, used: start }
  }

export const readNdjson = ndjsonReader(false)
export const readOpenedNdjson = ndjsonReader(true)
