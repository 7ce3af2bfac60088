import { type Reach, reachOf } from '../../access/reach.ts'
import { reachFrom, reachText } from '../../access/reach-text.ts'
import type { TokenDoc } from '../tokens.ts'
import { stringPool } from './string-pool.ts'

/** Bytes of a place of a reach in addition to its text. */
const PLACE_BYTES = 160

/** Text of the reach of a token record. */
export const reachTextOf = ({ namespace, reach }: Pick<TokenDoc, 'namespace' | 'reach'>): string =>
  reach ?? reachText(reachOf({ namespace }))

/** Pool of the reaches of tokens. Equal reaches share a number and an object. */
export const reachPool = () => {
  const texts = stringPool()
  const reaches: (Reach | undefined)[] = []
  let bytes = 0

  const bytesOf = (number: number): number => texts.text(number).length + reaches[number]!.places.size * PLACE_BYTES
  return {
    /** Counts a token with this reach. Returns the number of the reach. */
    add: (text: string): number => {
      const number = texts.add(text)
      if (reaches[number] === undefined) {
        reaches[number] = reachFrom(text)
        bytes += bytesOf(number)
      }
      return number
    },
    /** Removes a token with this reach. */
    remove: (number: number): void => {
      const freed = bytesOf(number)
      if (!texts.remove(number)) return
      reaches[number] = undefined
      bytes -= freed
    },
    reach: (number: number): Reach => reaches[number]!,
    /** The reach of a text; the shared object if a token has it. */
    of: (text: string): Reach => reaches[texts.number(text) ?? -1] ?? reachFrom(text),
    /** Length of the text of a reach. */
    length: (number: number): number => texts.text(number).length,
    /** Approximate memory of all reaches in bytes. */
    bytes: (): number => bytes,
    /** Bytes of a reach, divided by its tokens. */
    share: (number: number): number => bytesOf(number) / texts.having(number),
    /** The texts of all reaches by number; empty for a free number. */
    all: texts.all,
  }
}
