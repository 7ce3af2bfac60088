import { givenBy } from '../../../../src/contract/answers.ts'

/** Weight of a variant in a rule, in percent, as typed; empty for no weight. */
export type Share = { readonly variant: string; readonly weight: string }

/** Selects the weights that are not empty. */
export const given = (shares: readonly Share[]): readonly Share[] => shares.filter(({ weight }) => weight.trim() !== '')

const exactly = (percent: number): number => Number(percent.toFixed(4))
const numberOf = ({ weight }: Share): number => (Number.isFinite(Number(weight)) ? Number(weight) : 0)

/** Sum of the weights. */
export const sumOf = (shares: readonly Share[]): number =>
  exactly(shares.reduce((sum, share) => sum + numberOf(share), 0))

/** Percentage of the entities that get the variant of a weight. */
export const sizeOf = (share: Share): number => givenBy(numberOf(share))

/** Percentage that the weights leave to no variant: what is missing to 100, and what their steps of 0.1 cut off. */
export const remainderOf = (shares: readonly Share[]): number =>
  exactly(100 - shares.reduce((sum, share) => sum + sizeOf(share), 0))

/** Whether the sum exceeds 100; the service tolerates an excess of 0.001. */
export const isTooMuch = (shares: readonly Share[]): boolean => sumOf(shares) > 100.001

/** Splits 100 into `parts` multiples of 0.1, the steps of the evaluation, the larger ones first. */
const evenWeights = (parts: number): readonly string[] => {
  const least = Math.floor(1000 / parts)
  const more = 1000 - least * parts
  return Array.from({ length: parts }, (_, n) => String((least + (n < more ? 1 : 0)) / 10))
}

/** Rows of the present weights, then of the other variants. */
export const rowsOf = (shares: readonly Share[], variants: readonly string[]): readonly Share[] => [
  ...shares,
  ...variants
    .filter((variant) => !shares.some((share) => share.variant === variant))
    .map((variant) => ({ variant, weight: '' })),
]

/** Splits evenly among the variants with a weight, or among all if fewer than two have one. */
export const evenSplit = (rows: readonly Share[]): readonly Share[] => {
  const chosen = given(rows).length > 1 ? given(rows) : rows
  const weights = evenWeights(chosen.length)
  return rows.map((row) => {
    const n = chosen.indexOf(row)
    return n < 0 ? row : { ...row, weight: weights[n]! }
  })
}

/** Gives the remainder to the first variant without a weight, else to the last one, in the steps of the evaluation. */
export const withRest = (rows: readonly Share[]): readonly Share[] => {
  const free = rows.findIndex(({ weight }) => weight.trim() === '')
  const target = free < 0 ? rows.length - 1 : free
  const rest = remainderOf(rows)
  return rows.map((row, n) => {
    if (n === target) return { ...row, weight: String(exactly(sizeOf(row) + rest)) }
    return row.weight.trim() === '' ? row : { ...row, weight: String(sizeOf(row)) }
  })
}
