import { type Reach, reachFrom, reachOf, reachText } from '../../access/reach.ts'
import type { TokenDoc } from '../tokens.ts'

/** Bytes of one namespace in a set of rights, in addition to its text. */
const PLACE_BYTES = 160

/** Pool of texts with reference counts. Each text has a small number; the number of an unused text is reused. */
export const stringPool = () => {
  const numbers = new Map<string, number>()
  const texts: string[] = []
  const counts: number[] = []
  const free: number[] = []
  return {
    /** Adds a reference to a text. Returns its number. */
    add: (text = ''): number => {
      let number = numbers.get(text)
      if (number === undefined) {
        number = free.pop() ?? texts.length
        numbers.set(text, number)
        texts[number] = text
        counts[number] = 0
      }
      counts[number]!++
      return number
    },
    /** Removes a reference. Returns true if the reference was the last one. */
    remove: (number: number): boolean => {
      if (--counts[number]! > 0) return false
      numbers.delete(texts[number]!)
      texts[number] = ''
      free.push(number)
      return true
    },
    number: (text = ''): number | undefined => numbers.get(text),
    text: (number: number): string => texts[number]!,
    /** Number of references. */
    having: (number: number): number => counts[number]!,
    /** All texts by number; empty for a free number. */
    all: (): readonly string[] => [...texts],
    count: (text = ''): number => counts[numbers.get(text) ?? -1] ?? 0,
  }
}

/** Text of the rights of a token record. */
export const reachTextOf = ({ namespace, reach }: Pick<TokenDoc, 'namespace' | 'reach'>): string =>
  reach ?? reachText(reachOf({ namespace }))

/** Pool of the rights of tokens. Equal rights share a number and an object. */
export const reachPool = () => {
  const texts = stringPool()
  const reaches: (Reach | undefined)[] = []
  let bytes = 0

  const bytesOf = (number: number): number => texts.text(number).length + reaches[number]!.places.size * PLACE_BYTES
  return {
    /** Counts a token with these rights. Returns the number of these rights. */
    add: (text: string): number => {
      const number = texts.add(text)
      if (reaches[number] === undefined) {
        reaches[number] = reachFrom(text)
        bytes += bytesOf(number)
      }
      return number
    },
    /** Removes a token with these rights. */
    remove: (number: number): void => {
      const freed = bytesOf(number)
      if (!texts.remove(number)) return
      reaches[number] = undefined
      bytes -= freed
    },
    reach: (number: number): Reach => reaches[number]!,
    /** The rights of a text; the shared object if a token has it. */
    of: (text: string): Reach => reaches[texts.number(text) ?? -1] ?? reachFrom(text),
    /** Length of the text of a set of rights. */
    length: (number: number): number => texts.text(number).length,
    /** Approximate memory of all sets of rights in bytes. */
    bytes: (): number => bytes,
    /** Bytes of a set of rights, divided by its tokens. */
    share: (number: number): number => bytesOf(number) / texts.having(number),
    /** The texts of all sets of rights by number; empty for a free number. */
    all: texts.all,
  }
}

/** Active static tokens that a credential has created, and the total length of their rights. */
type Issued = { readonly tokens: number; readonly characters: number }

/** Counts static tokens by the credential that created them. Each credential has a small number. */
export const issuerCounts = () => {
  const issuers = stringPool()
  const characters: number[] = []
  return {
    /** Counts a token of this credential. Returns the number of the credential. */
    add: (issuer: string | undefined, length: number): number => {
      const number = issuers.add(issuer)
      characters[number] = (characters[number] ?? 0) + length
      return number
    },
    /** Removes a token of this credential. */
    remove: (number: number, length: number): void => {
      characters[number]! -= length
      issuers.remove(number)
    },
    /** Changes the length of the rights of a token of this credential. */
    change: (number: number, before: number, after: number): void => void (characters[number]! += after - before),
    issuedBy: (issuer?: string): Issued => ({
      tokens: issuers.count(issuer),
      characters: characters[issuers.number(issuer) ?? -1] ?? 0,
    }),
    /** All credentials by number. */
    all: issuers.all,
  }
}
