import { type Reach, reachOf } from '../../access/reach.ts'
import { reachFrom, reachText } from '../../access/reach-text.ts'
import type { TokenDoc } from '../tokens.ts'
import { stringPool } from './string-pool.ts'

/** Bytes of a place of a reach beside its text. */
const PLACE_BYTES = 160

/** The text of the reach of a token, by its record. */
export const reachTextOf = ({ namespace, reach }: Pick<TokenDoc, 'namespace' | 'reach'>): string =>
  reach ?? reachText(reachOf({ namespace }))

/** The reaches of tokens by small numbers, each resolved once: equal ones are one object. */
export const reachPool = () => {
  const texts = stringPool()
  const reaches: (Reach | undefined)[] = []
  let bytes = 0

  const bytesOf = (number: number): number => texts.text(number).length + reaches[number]!.places.size * PLACE_BYTES
  return {
    /** One token more with this reach; gives the number of the reach. */
    add: (text: string): number => {
      const number = texts.add(text)
      if (reaches[number] === undefined) {
        reaches[number] = reachFrom(text)
        bytes += bytesOf(number)
      }
      return number
    },
    /** One token less with the reach of this number. */
    remove: (number: number): void => {
      const freed = bytesOf(number)
      if (!texts.remove(number)) return
      reaches[number] = undefined
      bytes -= freed
    },
    reach: (number: number): Reach => reaches[number]!,
    /** The reach of a text, shared where some token has it. */
    of: (text: string): Reach => reaches[texts.number(text) ?? -1] ?? reachFrom(text),
    /** Characters of the text of a reach. */
    length: (number: number): number => texts.text(number).length,
    /** About how many bytes of memory all reaches take. */
    bytes: (): number => bytes,
    /** The bytes of a reach, divided by the tokens that have it. */
    share: (number: number): number => bytesOf(number) / texts.having(number),
    /** The texts of all reaches by their numbers; of a number that is free the empty one. */
    all: texts.all,
  }
}
