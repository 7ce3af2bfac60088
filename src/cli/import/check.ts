import { fail } from '../../base/failure.ts'
import { partialShare } from '../../contract/answers.ts'
import type { FlagPart, RulePart, SegmentPart } from '../document/read.ts'
import { type Problem, problemsOf } from './rules.ts'

/** Rank of a rule: the given one, else its position from 1. */
export const rankOf = ({ rank }: RulePart, n: number): unknown => (Number(rank ?? 0) === 0 ? n + 1 : rank)

export const notUnique = (path: string, message: string): Problem => ({ path, message, exit: 'conflict' })
const notFound = (path: string, what: string): Problem => ({ path, message: `${what} not found`, exit: 'notFound' })

type Keyed = {
  readonly path: string
  readonly at: (member: string) => string
  readonly body: { readonly key?: string | undefined }
}

/** One problem for each part whose key an earlier part has. */
export const twice = (parts: readonly Keyed[], message: (key: string) => string): readonly Problem[] => {
  const seen = new Set<string>()
  return parts.flatMap(({ at, body: { key } }) => {
    if (key === undefined) return []
    if (seen.has(key)) return [notUnique(at('key'), message(key))]
    seen.add(key)
    return []
  })
}

/** Segments that exist neither in the document nor in the service; none if the segments of the service are unread. */
const missingSegments = (
  place: string,
  segments: readonly string[],
  ns: string,
  known: ReadonlySet<string> | undefined,
) =>
  segments
    .filter((segment) => segment !== '' && known && !known.has(segment))
    .map((segment) => notFound(place, `segment "${ns}/${segment}"`))

const ruleProblems = (
  rule: RulePart,
  n: number,
  { body, variants }: FlagPart,
  ns: string,
  known: ReadonlySet<string> | undefined,
) => {
  const { at, segments, shares } = rule
  const unknown = (key: string) => !variants.some((variant) => variant.body.key === key)
  const parts = [
    ...problemsOf('rule', at, { ...rule.body, rank: rankOf(rule, n) }),
    ...missingSegments(at('segment'), segments, ns, known),
    ...shares.flatMap(({ at, variant, rollout }) => [
      ...(unknown(variant) ? [notFound(at('variant'), `variant "${variant}" of flag "${ns}/${body.key}"`)] : []),
      ...problemsOf('distribution', at, { rollout }),
    ]),
  ]
  return parts.length > 0 ? parts : problemsOf('distributions', at, { shares })
}

/** Problems of a flag: invalid fields, duplicate keys and ranks, missing variants and segments. */
export const flagProblems = (
  flag: FlagPart,
  ns: string,
  known: ReadonlySet<string> | undefined,
): readonly Problem[] => {
  const { at, body, variants, rules, rollouts } = flag
  const ranks = new Set<number>()
  const taken = rules.flatMap((rule, n): readonly Problem[] => {
    const rank = Number(rankOf(rule, n))
    if (ranks.has(rank))
      return [{ path: rule.at('rank'), message: `rank number: ${rank} already exists`, exit: 'failed' }]
    ranks.add(rank)
    return []
  })
  const [, second] = variants.filter(({ byDefault }) => byDefault)
  return [
    ...problemsOf('flag', at, body),
    ...variants.flatMap((variant) => problemsOf('variant', variant.at, variant.body)),
    ...twice(variants, (key) => `variant "${key}" is not unique for flag "${ns}/${body.key}"`),
    ...(second
      ? [{ path: second.at('default'), message: 'a flag has at most one default variant', exit: 'failed' } as const]
      : []),
    ...rules.flatMap((rule, n) => ruleProblems(rule, n, flag, ns, known)),
    ...taken,
    ...rollouts.flatMap((rollout) => [
      ...problemsOf('rollout', rollout.at, rollout.body),
      ...missingSegments(rollout.at('segment'), rollout.segments, ns, known),
    ]),
  ]
}

/** Places of rules whose shares leave entities without a variant, with the percentage that they give. */
export const partialShares = (
  flags: readonly FlagPart[],
): readonly { readonly place: string; readonly given: number }[] =>
  flags.flatMap(({ rules }) =>
    rules.flatMap(({ at, shares }) => {
      const given = partialShare(shares.map(({ rollout }) => ({ rollout: Number(rollout) })))
      return given === undefined ? [] : [{ place: at('distributions'), given }]
    }),
  )

/** Problems of a segment and its constraints. */
export const segmentProblems = ({ at, body, constraints }: SegmentPart): readonly Problem[] => [
  ...problemsOf('segment', at, body),
  ...constraints.flatMap((part) => problemsOf('constraint', part.at, part.body)),
]

/**
 * Fails with all problems of the documents at once, in the order of their discovery. `unread` has the messages of parts
 * that could not be read; further problems of such a part are left out.
 */
export const refuseAll = (unread: readonly string[], problems: readonly Problem[]): void => {
  const found = problems
    .filter(({ path }) => !unread.some((message) => message.startsWith(`${path}: `)))
    .map(({ path, message }) => `${path}: ${message}`)
  const all = [...new Set([...unread, ...found])]
  if (all.length === 0) return
  const lines = all.slice(0, 50)
  const more = all.length > lines.length ? [`… and ${all.length - lines.length} more.`] : []
  const next = [
    ...(problems.some(({ existing }) => existing)
      ? ['Use --skip-existing to keep existing flags and segments, or --drop to change them to the document.']
      : []),
    ...(problems.some(({ exit }) => exit === 'denied')
      ? ['rollcall whoami lists the rights of the token in use.']
      : []),
  ]
  const exit = unread.length > 0 ? 'usage' : problems[0]!.exit
  fail(exit, [...lines, ...more, 'Nothing is written.', ...next].join('\n'))
}
