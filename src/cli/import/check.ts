import { fail } from '../../failure.ts'
import type { FlagPart, RulePart, SegmentPart } from '../document/parts.ts'
import { type Problem, problemsOf } from './rules.ts'

/** Rank of a rule: the given one, else its position from 1. */
export const rankOf = ({ rank }: RulePart, n: number): unknown => (Number(rank ?? 0) === 0 ? n + 1 : rank)

export const notUnique = (path: string, message: string): Problem => ({ path, message, exit: 'conflict' })
const notFound = (path: string, what: string): Problem => ({ path, message: `${what} not found`, exit: 'notFound' })

type Keyed = { readonly path: string; readonly body: { readonly key?: string | undefined } }

/** One problem for each part whose key an earlier part has. */
export const twice = (parts: readonly Keyed[], message: (key: string) => string): readonly Problem[] => {
  const seen = new Set<string>()
  return parts.flatMap(({ path, body: { key } }) => {
    if (key === undefined) return []
    if (seen.has(key)) return [notUnique(path, message(key))]
    seen.add(key)
    return []
  })
}

const firstMissing = (segments: readonly string[], known: ReadonlySet<string>) =>
  segments.find((segment) => segment !== '' && !known.has(segment))

const ruleProblems = (
  rule: RulePart,
  n: number,
  { body, variants }: FlagPart,
  ns: string,
  known: ReadonlySet<string>,
) => {
  const { path, segments, shares } = rule
  const missing = firstMissing(segments, known)
  const unknown = (key: string) => !variants.some((variant) => variant.body.key === key)
  const parts = [
    ...problemsOf('rule', path, { ...rule.body, rank: rankOf(rule, n) }),
    ...(missing === undefined ? [] : [notFound(path, `flag "${ns}/${body.key}" or segment "${ns}/${missing}"`)]),
    ...shares.flatMap(({ path, variant, rollout }) => [
      ...(unknown(variant)
        ? [notFound(path, `variant "${variant}", rule "${n + 1}", flag "${body.key}" in namespace "${ns}"`)]
        : []),
      ...problemsOf('distribution', path, { rollout }),
    ]),
  ]
  return parts.length > 0 ? parts : problemsOf('distributions', path, { shares })
}

/** Problems of a flag: invalid fields, duplicate keys and ranks, missing variants and segments. */
export const flagProblems = (flag: FlagPart, ns: string, known: ReadonlySet<string>): readonly Problem[] => {
  const { path, body, variants, rules, rollouts } = flag
  const ranks = new Set<number>()
  const taken = rules.flatMap((rule, n): readonly Problem[] => {
    const rank = Number(rankOf(rule, n))
    if (ranks.has(rank)) return [{ path: rule.path, message: `rank number: ${rank} already exists`, exit: 'failed' }]
    ranks.add(rank)
    return []
  })
  const [, second] = variants.filter(({ byDefault }) => byDefault)
  return [
    ...problemsOf('flag', path, body),
    ...variants.flatMap((variant) => problemsOf('variant', variant.path, variant.body)),
    ...twice(variants, (key) => `variant "${key}" is not unique for flag "${ns}/${body.key}"`),
    ...(second
      ? [{ path: second.path, message: 'a flag has at most one default variant', exit: 'failed' } as const]
      : []),
    ...rules.flatMap((rule, n) => ruleProblems(rule, n, flag, ns, known)),
    ...taken,
    ...rollouts.flatMap((rollout) => {
      const missing = firstMissing(rollout.segments, known)
      return [
        ...problemsOf('rollout', rollout.path, rollout.body),
        ...(missing === undefined ? [] : [notFound(rollout.path, `flag "${ns}/${body.key} or segment ${missing}"`)]),
      ]
    }),
  ]
}

export const segmentProblems = ({ path, body, constraints }: SegmentPart): readonly Problem[] => [
  ...problemsOf('segment', path, body),
  ...constraints.flatMap((part) => problemsOf('constraint', part.path, part.body)),
]

/** Fails with all problems of the documents at once. */
export const refuseAll = (problems: readonly Problem[]): void => {
  const [first] = problems
  if (!first) return
  const lines = problems.slice(0, 50).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  const more = problems.length > lines.length ? [`… and ${problems.length - lines.length} more.`] : []
  const next = problems.some(({ exit }) => exit === 'conflict')
    ? ['Use --skip-existing to keep existing flags and segments, or --drop to replace them.']
    : []
  fail(first.exit, [...lines, ...more, 'Nothing is written.', ...next].join('\n'))
}
