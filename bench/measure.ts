/** One line of the table: `figure` and `target` are of the same unit; `ok` when the target is met. */
export type Row = {
  readonly id: string
  readonly name: string
  readonly figure: string
  readonly target: string
  readonly ok: boolean
  readonly note?: string
}

/** A row whose figure must reach at least (or stay at or under) its target. */
export const row = (
  id: string,
  name: string,
  figure: number,
  target: { readonly atLeast: number } | { readonly atMost: number },
  unit = '',
  note?: string,
): Row => {
  const [sign, bound] = 'atLeast' in target ? ['≥', target.atLeast] : ['≤', target.atMost]
  const ok = 'atLeast' in target ? figure >= target.atLeast : figure <= target.atMost
  return {
    id,
    name,
    figure: `${figure.toFixed(2)}${unit}`,
    target: `${sign} ${bound}${unit}`,
    ok,
    ...(note !== undefined && { note }),
  }
}

/** A row of a figure that has no target. */
export const told = (id: string, name: string, figure: string, note?: string): Row => ({
  id,
  name,
  figure,
  target: '',
  ok: true,
  ...(note !== undefined && { note }),
})

/** The value below which a share q of the values lies (nearest rank). */
export const quantile = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Seconds that some work takes. */
export const seconds = async (work: () => unknown): Promise<number> => {
  const start = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - start) / 1e9
}

/**
 * Measures rates of several things in one run by turns, so that whatever else the machine does falls on all alike. A slice runs for
 * the given time and says how often it did its thing; answers the upper quantile of the rates of each, for noise only ever slows.
 */
export const alternate = async <K extends string>(
  slices: Readonly<Record<K, (until: number) => Promise<number> | number>>,
  { rounds = 7, sliceMs = 400, q = 0.85 } = {},
): Promise<Readonly<Record<K, number>>> => {
  const names = Object.keys(slices) as K[]
  const rates = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      let count = 0
      const took = await seconds(async () => void (count = await slices[name](performance.now() + sliceMs)))
      if (round >= 0) rates.get(name)!.push(count / took)
    }
  }
  return Object.fromEntries(names.map((name) => [name, quantile(rates.get(name)!, q)])) as Record<K, number>
}

/** Says on stderr how far a measurement is. */
export const progress = (text: string): void => void process.stderr.write(`  ${text}\n`)

/** The markdown table of the rows. */
export const table = (rows: readonly Row[]): string =>
  [
    '| # | what | measured | target | |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ id, name, figure, target, ok, note }) =>
        `| ${id} | ${name}${note === undefined ? '' : ` (${note})`} | ${figure} | ${target} | ${target === '' ? '' : ok ? 'ok' : 'MISSED'} |`,
    ),
  ].join('\n')

/** A full garbage collection where Node was started with --expose-gc, so that no measurement pays for the one before. */
export const collectGarbage = (): void => globalThis.gc?.()

/** Milliseconds of several works, by turns, after a round that does not count: the median of so many rounds of each. */
export const times = async <K extends string>(
  rounds: number,
  works: Readonly<Record<K, () => Promise<void> | void>>,
) => {
  const names = Object.keys(works) as K[]
  const measured = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++)
    for (const name of names) {
      const took = (await seconds(works[name])) * 1000
      if (round >= 0) measured.get(name)!.push(took)
    }
  progress(names.map((name) => `${name} ${median(measured.get(name)!).toFixed(1)} ms`).join(', '))
  return Object.fromEntries(names.map((name) => [name, median(measured.get(name)!)])) as Record<K, number>
}
