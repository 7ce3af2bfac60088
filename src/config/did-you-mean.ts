const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [i, letter] of a.split('').entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++)
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === b[j] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}

/**
 * ` (did you mean x?)` with the nearest name, if its edit distance is at most a third of its length; else an empty
 * text.
 */
export const didYouMean = (name: string, names: Iterable<string>): string => {
  const near = [...names]
    .map((other) => [distance(name.slice(0, 200), other), other] as const)
    .filter(([steps, other]) => steps <= Math.max(1, Math.floor(other.length / 3)))
    .sort(([a], [b]) => a - b)
  return near[0] ? ` (did you mean ${near[0][1]}?)` : ''
}
