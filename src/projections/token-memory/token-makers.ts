import { stringPool } from './string-pool.ts'

/** What a credential has made: live static tokens, and the characters of what they may do together. */
type Made = { readonly tokens: number; readonly characters: number }

/** Who made the static tokens, by small numbers. */
export const tokenMakers = () => {
  const makers = stringPool()
  const characters: number[] = []
  return {
    /** A token more of this maker; gives the number of the maker. */
    add: (maker: string | undefined, length: number): number => {
      const number = makers.add(maker)
      characters[number] = (characters[number] ?? 0) + length
      return number
    },
    /** A token less of the maker of this number. */
    remove: (number: number, length: number): void => {
      characters[number]! -= length
      makers.remove(number)
    },
    /** A token of the maker of this number may do something else. */
    change: (number: number, before: number, after: number): void => void (characters[number]! += after - before),
    made: (maker?: string): Made => ({
      tokens: makers.count(maker),
      characters: characters[makers.number(maker) ?? -1] ?? 0,
    }),
    /** All makers by their numbers. */
    all: makers.all,
  }
}
