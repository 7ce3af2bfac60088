import { didYouMean } from '../../config/problem.ts'
import type { rolloutParts } from '../../contract/flags/rollout.ts'
import {
  amount,
  attempt,
  isMapping,
  items,
  json,
  members,
  plain,
  present,
  report,
  text,
  textOrMapping,
  truth,
  valueOrList,
} from './reader.ts'
import { type Problems, placeOf, type Source, sourcesIn } from './source.ts'

/**
 * Members of each resource of a document (api.md §13). The compiler reports a member that `tree.ts` does not write, and
 * a field of a request that the parts below do not have.
 */
export const memberNames = {
  document: ['version', 'namespace', 'flags', 'segments'],
  namespace: ['key', 'name', 'description'],
  /** The default variant is marked in the list of variants. */
  flag: ['key', 'name', 'type', 'description', 'enabled', 'metadata', 'variants', 'rules', 'rollouts'],
  variant: ['default', 'key', 'name', 'description', 'attachment'],
  rule: ['segment', 'rank', 'distributions'],
  distribution: ['variant', 'rollout'],
  /** The rank is the order of the list; the parts determine the type. */
  rollout: ['description', 'segment', 'threshold'],
  rolloutSegment: ['key', 'keys', 'operator', 'value'],
  rolloutThreshold: ['percentage', 'value'],
  segment: ['key', 'name', 'description', 'match_type', 'constraints'],
  constraint: ['type', 'property', 'operator', 'value', 'description'],
} as const

/** Names of the members of a resource. */
export type MemberOf<R extends keyof typeof memberNames> = (typeof memberNames)[R][number]

type Possible = Source | undefined
type Members<K extends string> = { readonly [name in K]?: Source }

/** Versions that are read: 1.0 to 1.6, of which 1.5 and 1.6 mean the same as 1.4. */
const VERSION = /^v?1(?:\.[0-6])?$/

/** Location of a part and of its members; that of an absent member is the part with the name of the member. */
const located = (source: Source, members: Members<string> | undefined) => {
  const path = placeOf(source)
  const at = (member: string): string => {
    if (!members || member === '') return path
    const [name = '', ...rest] = member.split(/(?=[.[])/)
    const given = members[name]
    return (given ? placeOf(given) : `${path}.${name}`) + rest.join('')
  }
  return { path, at }
}

/** Parts of a list with their locations, without those that cannot be read. */
const partsOf = <K extends string, T extends object>(
  list: Possible,
  names: readonly K[],
  part: (members: Members<K>) => T,
) =>
  (items(list) ?? []).flatMap((item) => {
    const found = members(item, names)
    return found ? [{ ...located(item, found), ...part(found) }] : []
  })

/** The namespace of a document, given as text or with name and description. What is not stated stays unchanged. */
const namespaceOf = (given: Possible, whole: Source) => {
  const found = given && isMapping(given) ? members(given, memberNames.namespace) : undefined
  const key = (found ? text(found.key) : textOrMapping(given)) || 'default'
  const [name, description] = [text(found?.name), text(found?.description)]
  const body = { key, ...(name && { name }), ...(description !== undefined && { description }) }
  return { ...located(given ?? whole, found), body }
}

/** Segments given by one key as text, by `key`, or by `keys` with `operator`. */
const bySegments = (source: Possible) => {
  const found: Members<MemberOf<'rolloutSegment'>> | undefined =
    source && isMapping(source) ? members(source, memberNames.rolloutSegment) : undefined
  const several = (items(found?.keys) ?? []).map((key) => text(key) ?? '')
  const one = found ? text(found.key) : textOrMapping(source)
  if (source && one !== undefined && several.length > 0) report(source, 'must have either key or keys.')
  return {
    segmentKeys: one === undefined ? several : [one],
    segmentOperator: text(found?.operator),
    value: truth(found?.value),
  } satisfies Record<Exclude<keyof typeof rolloutParts.segment, 'segmentKey'>, unknown>
}

const rulesOf = (list: Possible) =>
  partsOf(list, memberNames.rule, ({ segment, rank, distributions }) => {
    const given = present(segment)
    const { value, ...body } = bySegments(given)
    if (given && value !== undefined) given.within.problems.unknown(`${placeOf(given)}.value`)
    const shares = partsOf(distributions, memberNames.distribution, ({ variant, rollout }) => ({
      variant: text(variant) ?? '',
      rollout: amount(rollout),
    }))
    return { segments: body.segmentKeys, rank: amount(rank), shares, body }
  })

const rolloutsOf = (list: Possible) =>
  partsOf(list, memberNames.rollout, ({ description, segment, threshold }) => {
    const [by, share] = [present(segment), present(threshold)]
    const named = by && bySegments(by)
    const { percentage, value } = (share && members(share, memberNames.rolloutThreshold)) ?? {}
    const part = { percentage: amount(percentage), value: truth(value) ?? false } satisfies Record<
      keyof typeof rolloutParts.threshold,
      unknown
    >
    const body = { description: text(description), segment: named, threshold: share && part }
    return { segments: named?.segmentKeys ?? [], body }
  })

const variantsOf = (list: Possible) =>
  partsOf(list, memberNames.variant, ({ key, name, description, attachment, default: byDefault }) => ({
    body: { key: text(key), name: text(name), description: text(description), attachment: json(attachment) },
    byDefault: truth(byDefault) === true,
  }))

const flagsOf = (list: Possible) =>
  partsOf(list, memberNames.flag, (flag) => ({
    body: {
      key: text(flag.key),
      name: text(flag.name),
      type: text(flag.type),
      description: text(flag.description),
      enabled: truth(flag.enabled) ?? false,
      metadata: plain(flag.metadata),
    },
    variants: variantsOf(flag.variants),
    rules: rulesOf(flag.rules),
    rollouts: rolloutsOf(flag.rollouts),
  }))

const constraintsOf = (list: Possible) =>
  partsOf(list, memberNames.constraint, ({ type, property, operator, value, description }) => {
    const kind = text(type)
    const body = {
      type: kind,
      property: text(property),
      operator: text(operator),
      value: valueOrList(value, kind === 'NUMBER_COMPARISON_TYPE'),
      description: text(description),
    }
    return { body }
  })

const segmentsOf = (list: Possible) =>
  partsOf(list, memberNames.segment, ({ key, name, description, match_type, constraints }) => ({
    body: { key: text(key), name: text(name), description: text(description), matchType: text(match_type) },
    constraints: constraintsOf(constraints),
  }))

/**
 * Refuses a member at the top of a document, because its content would be lost. Names of parts that only anchors use
 * begin with `x-` or `.`.
 */
const unread = (member: Source, name: string, names: readonly string[]): void => {
  if (!/^(?:x-|\.)/.test(name))
    report(member, `is not read. A document has ${names.join(', ')}${didYouMean(name, names)}.`)
}

const documentOf = (source: Source) => {
  const found = members(source, memberNames.document, unread)
  if (!found) return []
  const { version, namespace, flags, segments } = found
  const given = text(version) ?? '1.4'
  if (!VERSION.test(given)) report(version!, `unsupported version: ${given}; allowed: 1.0 to 1.6`)
  return [{ namespace: namespaceOf(present(namespace), source), flags: flagsOf(flags), segments: segmentsOf(segments) }]
}

/** Reads the documents of a file in any format of api.md §13. Reports all parts that cannot be read, with their place. */
export const documentsIn = (file: string, content: string, problems: Problems) =>
  attempt(problems, () => sourcesIn(file, content, problems))?.flatMap(documentOf) ?? []

/** A document as read: the bodies of the requests that create its content, unvalidated, and the location of each part. */
export type Document = ReturnType<typeof documentsIn>[number]
export type NamespacePart = Document['namespace']
export type FlagPart = Document['flags'][number]
export type RulePart = FlagPart['rules'][number]
export type SegmentPart = Document['segments'][number]
