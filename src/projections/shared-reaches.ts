import { type Reach, reachOf } from '../access/reach.ts'
import { reachFrom, reachText } from '../access/reach-text.ts'
import { countedTexts } from './counted-texts.ts'
import type { TokenDoc } from './tokens.ts'

/** The text of the reach of a token, by its record. */
export const reachTextOf = ({ namespace, reach }: Pick<TokenDoc, 'namespace' | 'reach'>): string =>
  reach ?? reachText(reachOf({ namespace }))

/** The reaches of tokens by small numbers, each resolved once: equal ones are one object. */
export const sharedReaches = () => {
  const texts = countedTexts()
  const reaches: (Reach | undefined)[] = []
  return {
    /** One token more with this reach; gives the number of the reach. */
    add: (text: string): number => {
      const number = texts.add(text)
      reaches[number] ??= reachFrom(text)
      return number
    },
    /** One token less with the reach of this number. */
    remove: (number: number): void => {
      if (texts.remove(number)) reaches[number] = undefined
    },
    reach: (number: number): Reach => reaches[number]!,
    /** The reach of a text, shared where some token has it. */
    of: (text: string): Reach => reaches[texts.number(text) ?? -1] ?? reachFrom(text),
    /** The texts of all reaches by their numbers; a number that is free has any text. */
    all: texts.all,
  }
}
