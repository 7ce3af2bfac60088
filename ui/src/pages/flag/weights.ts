/** How much of what a rule matches gets a variant, in percent and as it was typed; nothing typed is no weight. */
export type Share = { readonly variant: string; readonly weight: string }

/** The weights that are given. */
export const given = (shares: readonly Share[]): readonly Share[] => shares.filter(({ weight }) => weight.trim() !== '')

const exactly = (percent: number): number => Number(percent.toFixed(4))
const numberOf = ({ weight }: Share): number => (Number.isFinite(Number(weight)) ? Number(weight) : 0)

/** What weights add up to. */
export const sumOf = (shares: readonly Share[]): number =>
  exactly(shares.reduce((sum, share) => sum + numberOf(share), 0))

/** What of a hundred weights leave to no variant. */
export const remainderOf = (shares: readonly Share[]): number => exactly(100 - sumOf(shares))

/** Whether weights are more than all; the service takes what is less than a thousandth above. */
export const isTooMuch = (shares: readonly Share[]): boolean => sumOf(shares) > 100.001

/** So many parts of 0.01 that add up to 100, the larger ones first. */
export const evenWeights = (parts: number): readonly string[] => {
  const least = Math.floor(10_000 / parts)
  const more = 10_000 - least * parts
  return Array.from({ length: parts }, (_, n) => String((least + (n < more ? 1 : 0)) / 100))
}

/** A row for each weight there is, and one for each other variant. */
export const rowsOf = (shares: readonly Share[], variants: readonly string[]): readonly Share[] => [
  ...shares,
  ...variants
    .filter((variant) => !shares.some((share) => share.variant === variant))
    .map((variant) => ({ variant, weight: '' })),
]

/** An even split of what has a weight; of everything, where fewer than two have one. */
export const evenSplit = (rows: readonly Share[]): readonly Share[] => {
  const chosen = given(rows).length > 1 ? given(rows) : rows
  const weights = evenWeights(chosen.length)
  return rows.map((row) => {
    const n = chosen.indexOf(row)
    return n < 0 ? row : { ...row, weight: weights[n]! }
  })
}
