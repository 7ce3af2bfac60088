import { Refusal } from '../../errors.ts'
import { inSlices } from '../../concurrency.ts'
import { type Answer, type Json, written } from './reply.ts'

const CHUNK = 65_536

/** The UTF-8 bytes of a text that comes in pieces, in chunks of a size worth sending. */
export function* chunksOf(texts: Iterable<string>): Generator<Buffer> {
  let held = ''
  for (const text of texts) {
    held += text
    if (held.length < CHUNK) continue
    yield Buffer.from(held)
    held = ''
  }
  if (held !== '') yield Buffer.from(held)
}

/** Texts with a comma between them. */
export function* joined(texts: Iterable<string>): Generator<string> {
  let first = true
  for (const text of texts) {
    if (!first) yield ','
    first = false
    yield text
  }
}

/** JSON texts of the first items of a list, and their bytes with the commas. */
export type Gathered<I> = { readonly pieces: readonly Json<I>[]; readonly bytes: number }

/** The JSON text of one item after the other, until the next has no room. The first is taken whatever its size. */
export const gather = <T, I>(
  items: readonly T[],
  most: number,
  text: (item: T) => Json<I>,
): Gathered<I> | Promise<Gathered<I>> => {
  const pieces: Json<I>[] = []
  let bytes = 0
  const paused = inSlices(items, (item) => {
    const piece = text(item)
    const size = Buffer.byteLength(piece) + 1
    if (pieces.length > 0 && bytes + size > most) return false
    pieces.push(piece)
    bytes += size
    return true
  })
  return paused ? paused.then(() => ({ pieces, bytes })) : { pieces, bytes }
}

function* whole(head: string, pieces: readonly string[], tail: string): Generator<string> {
  yield head
  yield* joined(pieces)
  yield tail
}

/** An answer whose JSON text is `head`, the pieces with commas between them, and `tail`: one text when it is small, sent bit by bit when it is not. */
const inPieces = <T>({ pieces, bytes }: Gathered<unknown>, head: string, tail: string, etag?: string): Answer<T> => {
  if (bytes <= CHUNK) return written(`${head}${pieces.join(',')}${tail}` as Json<T>, etag)
  const length = bytes - 1 + Buffer.byteLength(head) + Buffer.byteLength(tail)
  return { body: undefined, chunks: chunksOf(whole(head, pieces, tail)), length, ...(etag !== undefined && { etag }) }
}

type Lists<N extends string, I> = { readonly [name in N]: readonly I[] }

/** The answer of a list: its items under each of the names, and what is told of the page. */
export const listed = <N extends string, I, P extends object>(
  [name, ...others]: readonly N[],
  gathered: Gathered<I>,
  page: P,
): Answer<Lists<N, I> & P> => {
  const again = others.map((other) => `],"${other}":[${gathered.pieces.join(',')}`)
  return inPieces(gathered, `{"${name}":[`, `${again.join('')}],${JSON.stringify(page).slice(1)}`)
}

/** The members that stand before a list and after it. */
export type Around<B extends object, A extends object> = { readonly before: B; readonly after: A }

/** The JSON text of an object without its braces. */
export const membersOf = (object: object): string => JSON.stringify(object).slice(1, -1)

/** Answers all items under a name, or refuses with 400 `answer_too_large` as soon as they come to more than `most` bytes. `around` is asked at the end. */
export const allOf = <T, I, N extends string, B extends object, A extends object>(
  items: readonly T[],
  most: number,
  text: (item: T) => Json<I>,
  name: N,
  around: () => Around<B, A>,
  etag?: string,
): Answer<B & Lists<N, I> & A> | Promise<Answer<B & Lists<N, I> & A>> => {
  const finish = (gathered: Gathered<I>): Answer<B & Lists<N, I> & A> => {
    const { pieces, bytes } = gathered
    if (pieces.length < items.length || bytes > most)
      throw new Refusal('answer_too_large', `answer is larger than ${most} bytes`)
    const { before, after } = around()
    const [head, tail] = [membersOf(before), membersOf(after)]
    return inPieces(
      gathered,
      `{${head === '' ? '' : `${head},`}"${name}":[`,
      `]${tail === '' ? '' : `,${tail}`}}`,
      etag,
    )
  }
  const gathered = gather(items, most, text)
  return gathered instanceof Promise ? gathered.then(finish) : finish(gathered)
}
