import { stringPool } from './string-pool.ts'

/** Live static tokens that a credential has created, and the total length of their reaches. */
type Made = { readonly tokens: number; readonly characters: number }

/** Counts static tokens by the credential that created them. Each credential has a small number. */
export const tokenMakers = () => {
  const makers = stringPool()
  const characters: number[] = []
  return {
    /** Counts a token of this credential. Returns the number of the credential. */
    add: (maker: string | undefined, length: number): number => {
      const number = makers.add(maker)
      characters[number] = (characters[number] ?? 0) + length
      return number
    },
    /** Removes a token of this credential. */
    remove: (number: number, length: number): void => {
      characters[number]! -= length
      makers.remove(number)
    },
    /** Changes the length of the reach of a token of this credential. */
    change: (number: number, before: number, after: number): void => void (characters[number]! += after - before),
    made: (maker?: string): Made => ({
      tokens: makers.count(maker),
      characters: characters[makers.number(maker) ?? -1] ?? 0,
    }),
    /** All credentials by number. */
    all: makers.all,
  }
}
