import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { EntryRecord } from '../../src/verifier/entry.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import type { Hash } from '../../src/verifier/hashes.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import { root } from '../root.ts'

/** An event of the published examples. Long data has the parts beginning, character, its count, and end. */
export type EventVector = Omit<EntryRecord, 'revision' | 'data'> & {
  readonly index: number
  readonly revision: number
  readonly data?: string
  readonly dataParts?: readonly [string, string, number, string]
  readonly entry: string
  readonly leafHash: string
  readonly line?: string
}
type Root = { readonly size: number; readonly root: string }
type Vectors = {
  readonly key: { readonly origin: string; readonly seedHex: string; readonly vkey: string }
  readonly checkpoint: string
  readonly cosigned: { readonly text: string; readonly time: number; readonly witnessVkey: string }
  readonly events: readonly EventVector[]
  readonly roots: readonly Root[]
  readonly resources: readonly {
    readonly path: string
    readonly text?: string
    readonly base64?: string
    readonly bytes?: number
    readonly sha256?: string
  }[]
  readonly paths: readonly { readonly n: number; readonly path: string }[]
  readonly pattern: {
    readonly entry0: string
    readonly roots: readonly Root[]
    readonly tiles: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[]
    readonly inclusion: readonly { readonly index: number; readonly size: number; readonly hashes: readonly string[] }[]
    readonly consistency: readonly { readonly from: number; readonly to: number; readonly hashes: readonly string[] }[]
    readonly cover: readonly {
      readonly size: number
      readonly held: readonly (readonly [number, number])[]
      readonly hashes: readonly string[]
    }[]
  }
  readonly tlogProof: { readonly index: number; readonly text: string }
  readonly tlogProofWithheldMeta: { readonly index: number; readonly text: string }
  readonly export: { readonly manifest: string }
  readonly tamper: readonly {
    readonly kept: string
    readonly have: string
    readonly what: string
    readonly index?: number
  }[]
}

/** The published examples. */
export const vectors = JSON.parse(readFileSync(resolve(root, 'test/history/vectors.json'), 'utf8')) as Vectors

/** The record of an example. */
export const recordOf = (vector: EventVector): EntryRecord => {
  const [begin, character, count, end] = vector.dataParts ?? ['', '', 0, '']
  const data = vector.data ?? begin + character.repeat(count) + end
  return { ...vector, data, revision: BigInt(vector.revision) }
}

/** Record n of the pattern: a rule that makes any number of records. */
export const patternRecord = (n: number): EntryRecord => ({
  id: `c0000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  stream: `token-${n % 7}`,
  revision: BigInt(Math.floor(n / 7)),
  type: 'TokenRevoked',
  time: '2026-01-01T00:00:00.000Z',
  data: `{"n":${n}}`,
  meta: '{"schema":1}',
})

/** Leaves of the records 0 to n − 1 of the pattern. */
export const patternLeaves = (n: number): readonly Hash[] =>
  Array.from({ length: n }, (_, index) => leafOf(entryOf(patternRecord(index))))

export const base64 = (hash: Uint8Array): string => Buffer.from(hash).toString('base64')
