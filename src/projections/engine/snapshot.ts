import { createHmac, timingSafeEqual } from 'node:crypto'
import { forEachSliced, sliced } from '../../base/event-loop.ts'
import { METHODS } from '../../events/token.ts'
import { projections } from '../all.ts'
import type { TokenSnapshot } from '../token-memory/eviction.ts'
import type { Row } from '../views.ts'
import type { Met } from './memory.ts'

/** Contents of memory at a position of the log: every event up to there, and later events of some streams. */
export type MemorySnapshot = {
  readonly position: bigint
  /** Number of events up to the position. */
  readonly events: number
  /** Position and id of the newest event it holds, and id of the first event of the log. */
  readonly newest: bigint
  readonly event: string
  readonly log: string
  readonly ahead: readonly Met[]
  readonly tokens: TokenSnapshot
  /** Rows of read models of which memory holds whole rows. */
  readonly rows: readonly (readonly [view: string, row: Row])[]
}

/** Version of the format, including the byte order of numbers. */
const ORDER = [...new Uint8Array(new Uint16Array([1]).buffer)]
const SHAPE = JSON.stringify([3, ORDER, METHODS, projections.map(({ name, version }) => `${name}_${version}`)])
const MAC_BYTES = 32
const PIECE = 4 * 1_048_576
const LINES_TOGETHER = 1_048_576

type Header = Pick<MemorySnapshot, 'event' | 'log' | 'events'> & {
  readonly shape: string
  readonly position: string
  readonly newest: string
  readonly ahead: readonly (readonly [stream: string, revision: string, position: string])[]
  readonly facts: Omit<TokenSnapshot['facts'], 'reaches'>
  readonly columns: number
  /** Number of texts of rights. */
  readonly reaches: number
}
type FlatRow = readonly [view: string, key: string, revision: string, position: string, changes: string, rest: object]

const textOf = ([view, { key, revision, position, changes, ...rest }]: MemorySnapshot['rows'][number]): string =>
  JSON.stringify([view, key, String(revision), String(position), String(changes), rest] satisfies FlatRow)
const rowOf = ([view, key, revision, position, changes, rest]: FlatRow): MemorySnapshot['rows'][number] => [
  view,
  { key, revision: BigInt(revision), position: BigInt(position), changes: BigInt(changes), doc: undefined, ...rest },
]

/** One line of JSON for each item, in sections of about 1 MiB. */
function* linesOf<T>(things: readonly T[], textOf: (thing: T) => string): Generator<Uint8Array> {
  let [lines, characters]: [string[], number] = [[], 0]
  for (const thing of things) {
    const text = textOf(thing)
    characters += text.length
    lines.push(text)
    if (characters < LINES_TOGETHER) continue
    yield Buffer.from(lines.join('\n'))
    ;[lines, characters] = [[], 0]
  }
  if (lines.length > 0) yield Buffer.from(lines.join('\n'))
}

/** Sections in order: a header, the columns of tokens, then texts of rights and rows as lines of JSON. */
function* sectionsOf({ position, newest, ahead, tokens, rows, ...rest }: MemorySnapshot): Generator<Uint8Array> {
  const { reaches, ...facts } = tokens.facts
  const header: Header = {
    ...rest,
    shape: SHAPE,
    position: String(position),
    newest: String(newest),
    ahead: ahead.map((met) => [met.stream, String(met.revision), String(met.position)]),
    facts,
    columns: tokens.columns.length,
    reaches: reaches.length,
  }
  yield Buffer.from(JSON.stringify(header))
  yield* tokens.columns
  yield* linesOf(reaches, (reach) => JSON.stringify(reach))
  yield* linesOf(rows, textOf)
}

const lengthOf = (section: Uint8Array): Uint8Array => {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(section.length)
  return length
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

function* pagesOf(snapshot: MemorySnapshot): Generator<Iterable<Uint8Array>> {
  for (const section of sectionsOf(snapshot)) {
    yield [lengthOf(section)]
    yield piecesOf(section)
  }
}

/**
 * The snapshot in pieces, followed by a MAC over all of them. Only a holder of the key can create or change a snapshot.
 */
export async function* written(snapshot: MemorySnapshot, key: Uint8Array): AsyncGenerator<Uint8Array> {
  const mac = createHmac('sha256', key)
  for await (const part of sliced(pagesOf(snapshot)))
    for (const piece of part) {
      mac.update(piece)
      yield piece
    }
  yield mac.digest()
}

/** Reason why a snapshot is not used. */
type Unfit = { readonly unfit: string }

const authentic = async (bytes: Uint8Array, key: Uint8Array): Promise<boolean> => {
  if (bytes.length < MAC_BYTES) return false
  const mac = createHmac('sha256', key)
  const end = bytes.length - MAC_BYTES
  await forEachSliced(piecesOf(bytes.subarray(0, end)), (piece) => mac.update(piece))
  return timingSafeEqual(mac.digest(), bytes.subarray(end))
}

/** Reads a snapshot, or returns the reason why it is not used: it was changed, or another version wrote it. */
export const readSnapshot = async (bytes: Uint8Array, key: Uint8Array): Promise<MemorySnapshot | Unfit> => {
  if (!(await authentic(bytes, key))) return { unfit: 'the snapshot is damaged, or was written under another key' }
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength - MAC_BYTES)
  const sections: Buffer[] = []
  for (let at = 0; at < whole.length; at += 4 + sections.at(-1)!.length)
    sections.push(whole.subarray(at + 4, at + 4 + whole.readUInt32LE(at)))
  const [first, ...rest] = sections
  const {
    shape,
    position,
    newest,
    ahead,
    facts,
    columns,
    reaches: texts,
    ...header
  } = JSON.parse(String(first)) as Header
  if (shape !== SHAPE) return { unfit: 'the snapshot was written by another version' }
  const reaches: string[] = []
  const rows: MemorySnapshot['rows'][number][] = []
  for await (const part of sliced([rest.slice(columns)]))
    for (const section of part) {
      const lines = String(section).split('\n')
      if (reaches.length < texts) for (const line of lines) reaches.push(JSON.parse(line) as string)
      else for (const line of lines) rows.push(rowOf(JSON.parse(line) as FlatRow))
    }
  return {
    ...header,
    position: BigInt(position),
    newest: BigInt(newest),
    ahead: ahead.map(([stream, revision, at]) => ({ stream, revision: BigInt(revision), position: BigInt(at) })),
    tokens: { facts: { ...facts, reaches }, columns: rest.slice(0, columns) },
    rows,
  }
}
