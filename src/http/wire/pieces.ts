import { Refusal } from '../../errors.ts'
import { inSlices } from '../../concurrency.ts'
import { type Answer, written } from './reply.ts'

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
export type Gathered = { readonly pieces: readonly string[]; readonly bytes: number }

/** The JSON text of one item after the other, until the next has no room. The first is taken whatever its size. */
export const gather = <T>(
  items: readonly T[],
  most: number,
  text: (item: T) => string,
): Gathered | Promise<Gathered> => {
  const pieces: string[] = []
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
export const inPieces = ({ pieces, bytes }: Gathered, head: string, tail: string, etag?: string): Answer => {
  if (bytes <= CHUNK) return written(`${head}${pieces.join(',')}${tail}`, etag)
  const length = bytes - 1 + Buffer.byteLength(head) + Buffer.byteLength(tail)
  return { body: undefined, chunks: chunksOf(whole(head, pieces, tail)), length, ...(etag !== undefined && { etag }) }
}

/** The answer of a list: its items under each of the names, and what is told of the page. */
export const listed = ([name, ...others]: readonly string[], gathered: Gathered, page: object): Answer => {
  const again = others.map((other) => `],"${other}":[${gathered.pieces.join(',')}`)
  return inPieces(gathered, `{"${name}":[`, `${again.join('')}],${JSON.stringify(page).slice(1)}`)
}

/** Answers all items, or refuses with 400 `answer_too_large` as soon as they come to more than `most` bytes. `around` is asked at the end. */
export const allOf = <T>(
  items: readonly T[],
  most: number,
  text: (item: T) => string,
  around: () => readonly [head: string, tail: string],
  etag?: string,
): Answer | Promise<Answer> => {
  const finish = (gathered: Gathered): Answer => {
    const { pieces, bytes } = gathered
    if (pieces.length < items.length || bytes > most)
      throw new Refusal('answer_too_large', `answer is larger than ${most} bytes`)
    return inPieces(gathered, ...around(), etag)
  }
  const gathered = gather(items, most, text)
  return gathered instanceof Promise ? gathered.then(finish) : finish(gathered)
}
