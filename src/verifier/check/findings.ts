/** Something that a check found wrong. `index` or `between` (from, up to but excluding) name the records. */
type Finding = {
  readonly kind: string
  readonly index?: number
  readonly between?: readonly [from: number, to: number]
  readonly about?: string
}

/** Maximum number of findings that are kept. */
const KEPT = 20

/** Collects findings in their order; the same one counts once. */
export const findings = () => {
  const kept: Finding[] = []
  const known = new Set<string>()
  let count = 0
  return {
    add: (finding: Finding): void => {
      const key = JSON.stringify(finding)
      if (known.has(key)) return
      count++
      if (kept.length === KEPT) return
      known.add(key)
      kept.push(finding)
    },
    kept: kept as readonly Finding[],
    count: (): number => count,
  }
}
export type Findings = ReturnType<typeof findings>

/** Line of a finding: `index 5: changed`. */
export const findingLine = ({ kind, index, between, about }: Finding): string => {
  if (index !== undefined) return `index ${index}: ${kind}`
  if (between) return `between index ${between[0]} and ${between[1] - 1}: ${kind}`
  return about === undefined ? kind : `${about}: ${kind}`
}
