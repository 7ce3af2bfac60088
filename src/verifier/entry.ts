import { hash } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import { isSha256, isText, isWhole, membersIn } from './export/member-tests.ts'

/** The stored texts from which an entry is made. */
export type EntryRecord = Readonly<Record<'id' | 'stream' | 'type' | 'time' | 'data' | 'meta', string>> & {
  readonly revision: bigint
}

/** A record of the log with its position, which no entry has. */
export type StoredRecord = EntryRecord & { readonly position: bigint }

/** Texts that JSON does not escape. The test takes less time than JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/
const jsonText = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

/**
 * Returns the entry of a record: canonical JSON (RFC 8785) with the hashes of data and metadata. It depends on the
 * stored texts only, so every version and both stacks make the same entry.
 */
export const entryOf = ({ id, stream, revision, type, time, data, meta }: EntryRecord): string =>
  `{"data":"${hash('sha256', data)}","id":${jsonText(id)},"meta":"${hash('sha256', meta)}","revision":${revision},"stream":${jsonText(stream)},"time":${jsonText(time)},"type":${jsonText(type)},"v":1}`

/** Members of an entry. `data` and `meta` are hashes in hexadecimal digits. */
export type Entry = Readonly<Record<'data' | 'id' | 'meta' | 'stream' | 'time' | 'type', string>> & {
  readonly revision: number
}

/** Returns the members of an entry; undefined if the text is not exactly an entry. */
export const parseEntry = (text: string): Entry | undefined => {
  const { data, id, meta, revision, stream, time, type } = (membersIn(text) ?? {}) as Entry
  const entry = { data, id, meta, revision, stream, time, type }
  if (![id, stream, time, type].every(isText) || !isSha256(data) || !isSha256(meta) || !isWhole(revision))
    return undefined
  return canonical({ ...entry, v: 1 }) === text ? entry : undefined
}
