import { Refusal } from '../../base/errors.ts'
import { forEachSliced } from '../../base/event-loop.ts'
import { hasRoomFor, type Of, takeRoom } from '../memory/room.ts'
import { type Answer, type Json, written } from './reply.ts'

const CHUNK = 65_536

/** UTF-8 bytes of a text in slices of `CHUNK` code units; surrogate pairs are not split. */
function* slicesOf(text: string): Generator<Buffer> {
  for (let at = 0; at < text.length; ) {
    const end = at + CHUNK
    const isTorn = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
    const next = isTorn ? end - 1 : end
    yield Buffer.from(text.slice(at, next))
    at = next
  }
}

/** UTF-8 bytes of a sequence of texts, in chunks of about `CHUNK` code units. */
export function* chunksOf(texts: Iterable<string>): Generator<Buffer> {
  let held = ''
  for (const text of texts) {
    held += text
    if (held.length < CHUNK) continue
    const whole = held
    held = ''
    yield* slicesOf(whole)
  }
  if (held !== '') yield Buffer.from(held)
}

/** The texts, separated by commas. */
export function* joined(texts: Iterable<string>): Generator<string> {
  let first = true
  for (const text of texts) {
    if (!first) yield ','
    first = false
    yield text
  }
}

/** JSON texts of the first items of a list, and their size in bytes including commas. */
export type Gathered<I> = { readonly pieces: readonly Json<I>[]; readonly bytes: number }

/**
 * Creates the JSON text of each item until the next one exceeds `most` bytes or the memory of the answer. The first
 * item is always included in the answer.
 */
export const gather = <T, I>(
  items: readonly T[],
  most: number,
  text: (item: T) => Json<I>,
  { request }: Of,
): Gathered<I> | Promise<Gathered<I>> => {
  const pieces: Json<I>[] = []
  let bytes = 0
  const paused = forEachSliced(items, (item) => {
    const piece = text(item)
    const size = Buffer.byteLength(piece) + 1
    if (pieces.length > 0 && (bytes + size > most || !hasRoomFor(request, bytes + size))) return false
    pieces.push(piece)
    bytes += size
    return true
  })
  return paused ? paused.then(() => ({ pieces, bytes })) : { pieces, bytes }
}

/** Chunks of `head`, the pieces separated by commas, and `tail`. */
const chunksAround = (head: string, pieces: Iterable<string>, tail: string): Generator<Buffer> =>
  chunksOf(
    (function* () {
      yield head
      yield* joined(pieces)
      yield tail
    })(),
  )

const lengthOf = (head: string, bytes: number, tail: string): number =>
  bytes - 1 + Buffer.byteLength(head) + Buffer.byteLength(tail)

/**
 * Answer with the JSON text of `head`, the pieces separated by commas, and `tail`. A small answer is one text; a large
 * one is sent in chunks.
 */
const inPieces = <T>({ pieces, bytes }: Gathered<unknown>, head: string, tail: string): Answer<T> => {
  if (bytes <= CHUNK) return { body: undefined, json: `${head}${pieces.join(',')}${tail}` as Json<T> }
  const length = lengthOf(head, bytes, tail)
  return { body: undefined, chunks: chunksAround(head, pieces, tail), length, holds: length }
}

/** Answer of a list that is the whole body. */
export const batched = <I>(gathered: Gathered<I>): Answer<never> => inPieces(gathered, '[', ']')

type Lists<N extends string, I> = { readonly [name in N]: readonly I[] }

/** Answer of a list: its items under each of the names, and the fields of the page. */
export const listed = <N extends string, I, P extends object>(
  [name, ...others]: readonly N[],
  gathered: Gathered<I>,
  page: P,
): Answer<Lists<N, I> & P> => {
  const again = others.map((other) => `],"${other}":[${gathered.pieces.join(',')}`)
  return inPieces(gathered, `{"${name}":[`, `${again.join('')}],${JSON.stringify(page).slice(1)}`)
}

/** Fields before and after a list. */
type Around<B extends object, A extends object> = { readonly before: B; readonly after: A }

/** JSON text of an object without its braces. */
export const membersOf = (object: object): string => JSON.stringify(object).slice(1, -1)

/** Creates the JSON text of an item; each call returns the same text. */
export type Made<I> = () => Json<I>

/** Bytes that an item of a large answer needs before its text is created. */
const ENTRY = 256

/**
 * Functions that create the texts of all items, their total size and the largest size; also the texts, if they are
 * small.
 */
type Weighed<I> = {
  readonly made: readonly Made<I>[]
  readonly texts: readonly Json<I>[]
  readonly bytes: number
  readonly largest: number
}

/**
 * Creates the text of each item to measure it, until the total exceeds `most` bytes. Keeps at most one chunk of texts.
 */
const weigh = <T, I>(
  items: readonly T[],
  most: number,
  make: (item: T) => Made<I>,
): Weighed<I> | Promise<Weighed<I>> => {
  const made: Made<I>[] = []
  const texts: Json<I>[] = []
  let [bytes, largest] = [0, 0]
  const paused = forEachSliced(items, (item) => {
    const one = make(item)
    const text = one()
    const size = Buffer.byteLength(text) + 1
    bytes += size
    largest = Math.max(largest, size)
    made.push(one)
    if (bytes <= CHUNK) texts.push(text)
    else texts.length = 0
    return bytes <= most
  })
  const done = () => ({ made, texts, bytes, largest })
  return paused ? paused.then(done) : done()
}

function* textsOf<I>(made: readonly Made<I>[]): Generator<Json<I>> {
  for (const make of made) yield make()
}

/**
 * Answers with all items under a name, or refuses with 400 `answer_too_large` as soon as they exceed `most` bytes. The
 * function `around` is called at the end. The texts of a large answer are created again as the client reads them.
 */
export const allOf = <T, I, N extends string, B extends object, A extends object>(
  of: Of,
  items: readonly T[],
  most: number,
  make: (item: T) => Made<I>,
  name: N,
  around: () => Around<B, A>,
  etag?: string,
): Answer<B & Lists<N, I> & A> | Promise<Answer<B & Lists<N, I> & A>> => {
  const finish = ({ made, texts, bytes, largest }: Weighed<I>): Answer<B & Lists<N, I> & A> => {
    if (bytes > most) throw new Refusal('answer_too_large', `answer is larger than ${most} bytes`)
    const { before, after } = around()
    const [first, last] = [membersOf(before), membersOf(after)]
    const head = `{${first === '' ? '' : `${first},`}"${name}":[`
    const tail = `]${last === '' ? '' : `,${last}`}}`
    if (bytes <= CHUNK) return written(`${head}${texts.join(',')}${tail}` as Json<B & Lists<N, I> & A>, etag)
    return {
      body: undefined,
      chunks: chunksAround(head, textsOf(made), tail),
      length: lengthOf(head, bytes, tail),
      holds: largest + made.length * ENTRY,
      ...(etag !== undefined && { etag }),
    }
  }
  const room = takeRoom(of, items.length * ENTRY)
  const weighed = room ? room.then(() => weigh(items, most, make)) : weigh(items, most, make)
  return weighed instanceof Promise ? weighed.then(finish) : finish(weighed)
}
