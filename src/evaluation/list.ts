import { parseExactly } from '../base/exact-json.ts'
import { exact } from './number.ts'

const parse = (text: string): unknown => {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

const listOf =
  <T>(zero: T, holds: (item: unknown) => item is T) =>
  (text: string): readonly T[] | undefined => {
    const list = parse(text)
    if (list === null) return []
    if (!Array.isArray(list)) return undefined
    const items = (list as readonly unknown[]).map((item) => item ?? zero)
    return items.every(holds) ? items : undefined
  }

/** Parses a JSON list of texts (`null` item = `""`, JSON `null` = no items); undefined if invalid. */
export const parseTextList = listOf('', (item): item is string => typeof item === 'string')

const numbersOf = listOf<number | bigint>(
  0,
  (item): item is number | bigint => typeof item === 'bigint' || Number.isFinite(item),
)

/**
 * Parses a JSON list of numbers (`null` item = 0, JSON `null` = no items), in the form of `parseNumber`; undefined if
 * invalid or if a number is too large.
 */
export const parseNumberList = (text: string): readonly (number | bigint)[] | undefined => numbersOf(text)?.map(exact)
