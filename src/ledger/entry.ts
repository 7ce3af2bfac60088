import { hash } from 'node:crypto'
import type { Stored } from '../events/log.ts'
import { type Hash, sha256 } from './hashes.ts'

/** The stored texts from which an entry is made. */
export type EntryRecord = Pick<Stored, 'id' | 'stream' | 'revision' | 'type' | 'time' | 'data' | 'meta'>

/**
 * Returns the entry of a record: canonical JSON (RFC 8785) with the hashes of data and metadata. It depends on the
 * stored texts only, so every version and both stacks make the same entry.
 */
export const entryOf = ({ id, stream, revision, type, time, data, meta }: EntryRecord): string =>
  `{"data":"${hash('sha256', data)}","id":${JSON.stringify(id)},"meta":"${hash('sha256', meta)}","revision":${revision},"stream":${JSON.stringify(stream)},"time":${JSON.stringify(time)},"type":${JSON.stringify(type)},"v":1}`

/** Returns the hash of a leaf: SHA-256(0x00 ‖ entry in UTF-8). */
export const leafOf = (entry: string): Hash => sha256(`\0${entry}`)
