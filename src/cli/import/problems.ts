import { invalid, Refusal } from '../../base/errors.ts'
import { type EXIT, fail } from '../../base/failure.ts'
import { partialShare } from '../../contract/answers.ts'
import { newFlag } from '../../contract/flags/flag.ts'
import { newRollout, rolloutFields, rolloutPart } from '../../contract/flags/rollout.ts'
import { newRule, segmentsGiven, share } from '../../contract/flags/rule.ts'
import { constraintBody, newSegment } from '../../contract/flags/segment.ts'
import { variantBody } from '../../contract/flags/variant.ts'
import { comparisonTypes, flagTypes, matchTypes, segmentOperators } from '../../contract/readers/fields.ts'
import type { Fields } from '../../contract/readers/input.ts'
import { newNamespace } from '../../contract/resource.ts'
import { checkConstraint, operators } from '../../evaluation/operators.ts'
import type { FlagPart, RulePart, SegmentPart } from '../document/read.ts'

/** A problem that prevents the import of a document. `existing`: the item is in the service already. */
export type Problem = {
  readonly path: string
  readonly message: string
  readonly exit: keyof typeof EXIT
  readonly existing?: true
}

type Body = Readonly<Record<string, unknown>>
/** Fields of a request, each checked by itself, and the check of all together. */
type Check = { readonly fields: Fields; readonly whole?: ((body: Body) => unknown) | undefined }

const typeNames = comparisonTypes.names.filter((name) => name !== comparisonTypes.wire.unknown)

/** Member of a constraint that a message of `checkConstraint` is about. */
const memberOf = (message: string): string =>
  message.startsWith('constraint operator')
    ? 'operator'
    : message.startsWith('property')
      ? 'property'
      : message.startsWith('invalid constraint type')
        ? 'type'
        : 'value'

const constraint = (body: Body): void => {
  const read = constraintBody.read(body)
  const found = checkConstraint(read)
  if (found.kind === 'refused' && body['type'] === undefined)
    invalid('type', `must not be empty; allowed: ${typeNames.join(', ')}`)
  if (found.kind === 'field') invalid(found.field, found.description)
  if (found.kind !== 'refused') return
  const member = memberOf(found.message)
  const allowed =
    member === 'operator' && read.type !== 'unknown' ? `; allowed: ${operators[read.type].join(', ')}` : ''
  invalid(member, found.message + allowed)
}

const CHECKS = {
  namespace: newNamespace,
  flag: newFlag,
  variant: variantBody,
  segment: newSegment,
  constraint: { fields: constraintBody.fields, whole: constraint },
  rule: { fields: newRule.fields, whole: (body) => segmentsGiven(newRule.read(body)) },
  distribution: { fields: { rollout: share } },
  distributions: {
    fields: {},
    whole: ({ shares }) => {
      const total = (shares as readonly Body[]).reduce((sum, each) => sum + share.read(each['rollout'], 'rollout'), 0)
      if (total > 100.001) invalid('distributions', 'must not exceed 100 in total')
    },
  },
  rollout: {
    fields: rolloutFields,
    whole: (body) => rolloutPart(newRollout.read(body), () => invalid('', 'must have segment or threshold')),
  },
} as const satisfies Readonly<Record<string, Check>>
type Kind = keyof typeof CHECKS
/** All fields of a request; a document refers to segments only by `segmentKeys`. */
type Checked<K extends Kind> = Readonly<Record<Exclude<keyof (typeof CHECKS)[K]['fields'], 'segmentKey'>, unknown>>

const WORDS: Readonly<Record<string, readonly string[]>> = {
  'flag type': flagTypes.names,
  'constraint type': typeNames,
  'segment match_type': matchTypes.names,
  'rule segment.operator': segmentOperators.names,
  'rollout segment.operator': segmentOperators.names,
}

/** Converts the name of a field of the API to the member of the document. */
const documented = (field: string): string =>
  field
    .replace('segmentKey or segmentKeys', 'segment')
    .replace(/^(?:segment\.)?segmentOperator/, 'segment.operator')
    .replace(/^(?:segment\.)?segmentKeys?/, 'segment')
    .replace(/^segment\.segment$/, 'segment')
    .replace('matchType', 'match_type')
    .replace(/^rule$/, '')

const WRONG_TYPE = /^request body is not valid: (\S+) (.*)$/

const problemOf = (kind: Kind, at: (member: string) => string, error: unknown): Problem => {
  if (!(error instanceof Refusal)) throw error
  const [, typed = '', expected = error.message] = WRONG_TYPE.exec(error.message) ?? []
  const { field, description } = error.violation ?? { field: typed, description: expected }
  const member = documented(field)
  const allowed = WORDS[`${kind} ${member}`]
  const hint = allowed && description.startsWith('unknown value') ? `; allowed: ${allowed.join(', ')}` : ''
  return { path: at(member), message: description + hint, exit: 'failed' }
}

/**
 * Problems that the service would report for the body of a request (api.md §7.3), one for each invalid field, with the
 * names and the places of the document. The checks use the field readers of the service.
 */
export const problemsOf = <K extends Kind>(
  kind: K,
  at: (member: string) => string,
  body: Checked<K>,
): readonly Problem[] => {
  const given: Body = { ...body }
  const attempt = (check: () => unknown): readonly Problem[] => {
    try {
      check()
      return []
    } catch (error) {
      return [problemOf(kind, at, error)]
    }
  }
  const { fields, whole }: Check = { whole: undefined, ...CHECKS[kind] }
  const found = Object.entries(fields).flatMap(([name, field]) => attempt(() => field.read(given[name], name)))
  return found.length > 0 || !whole ? found : attempt(() => whole(given))
}

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
