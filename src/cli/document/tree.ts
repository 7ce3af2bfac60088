import { randomUUID } from 'node:crypto'
import { escapeControl, escapeLines, escapeUnit } from '../../base/control-characters.ts'
import type { Flag } from '../../contract/flags/flag.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import type { Segment } from '../../contract/flags/segment.ts'
import type { Namespace } from '../../contract/resource.ts'
import type { WholeFlag } from '../client/lists.ts'
import type { MemberOf, memberNames } from './read.ts'

type Inline = { readonly json: string }
type Leaf = string | number | boolean | Inline
/** Node of a document; undefined members are omitted. */
export type Tree = Leaf | readonly Tree[] | { readonly [name in string]: Tree | undefined }

const isLeaf = (tree: unknown): tree is Leaf => typeof tree !== 'object' || (tree !== null && 'json' in tree)

/** Characters that strict YAML readers reject or treat as line breaks, other than control characters. */
const ESCAPED = /[\u2028\u2029\ufeff\ufffe\uffff]/g

/** Texts that need no quotes in any version of YAML. */
const PLAIN = /^[\p{L}_][\p{L}\p{N}_.,/()+-]*(?: [\p{L}\p{N}_.,/()+-]+)*$/u
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

const leaf = (value: Leaf): string => {
  if (typeof value === 'object') return value.json
  if (typeof value === 'string' && PLAIN.test(value) && !WORDS.test(value)) return value
  return escapeControl(JSON.stringify(value)).replace(ESCAPED, escapeUnit)
}

const linesOf = (tree: Tree): readonly string[] => {
  if (isLeaf(tree)) return [leaf(tree)]
  const isList = Array.isArray(tree)
  return Object.entries(tree).flatMap(([name, value]) => {
    if (value === undefined) return []
    const [first = '', ...others] = linesOf(value)
    if (isList) return [`- ${first}`, ...others.map((line) => `  ${line}`)]
    return isLeaf(value) ? [`${name}: ${first}`] : [`${name}:`, ...[first, ...others].map((line) => `  ${line}`)]
  })
}

/** One YAML document. The same content produces the same bytes. */
export const yamlText = (tree: Tree): string => `${linesOf(tree).join('\n')}\n`

/** JSON indented by two spaces; inline values stay on one line. */
export const jsonText = (tree: Tree): string => {
  const mark = randomUUID()
  const aside: string[] = []
  const text = JSON.stringify(
    tree,
    (_, value: unknown) =>
      isLeaf(value) && typeof value === 'object' ? `${mark}${aside.push(value.json) - 1}` : value,
    2,
  )
  return `${escapeLines(text).replace(new RegExp(`"${mark}(\\d+)"`, 'g'), (_, index: string) => aside[Number(index)]!)}\n`
}

/** A namespace with its content. */
export type Contents = {
  readonly namespace: Namespace
  readonly flags: readonly WholeFlag[]
  readonly segments: readonly Segment[]
}

/** Fields of a resource in the order of the document. */
type Members<R extends keyof typeof memberNames> = { readonly [name in MemberOf<R>]: Tree | undefined }

type BySegments = Pick<Rule, 'segmentKey' | 'segmentKeys' | 'segmentOperator'>

const filled = <T extends string | readonly Tree[]>(value: T): T | undefined => (value.length === 0 ? undefined : value)
const ifTrue = (value: boolean): true | undefined => value || undefined

/** One segment, or several with their operator, of which the default is omitted. */
const bySegments = ({ segmentKey, segmentKeys, segmentOperator }: BySegments) => {
  const [only, ...others] = segmentKey === '' ? segmentKeys : [segmentKey]
  return {
    key: others.length === 0 ? only : undefined,
    keys: others.length === 0 ? undefined : segmentKeys,
    operator: segmentOperator === 'OR_SEGMENT_OPERATOR' ? undefined : segmentOperator,
  }
}

const flagTree = ({ flag, rules, rollouts }: WholeFlag, lost: (flag: Flag) => never): Members<'flag'> => {
  const variantKeys = new Map(flag.variants.map(({ id, key }) => [id, key]))
  const variants = flag.variants.map(
    ({ id, key, name, description, attachment }): Members<'variant'> => ({
      default: ifTrue(id === flag.defaultVariant?.id),
      key,
      name: filled(name),
      description: filled(description),
      attachment: attachment === '' ? undefined : { json: attachment },
    }),
  )
  const ruleTrees = rules.map((rule, n): Members<'rule'> => {
    const { key, keys, operator } = bySegments(rule)
    const distributions = rule.distributions.map(({ variantId, rollout }): Members<'distribution'> => {
      return { variant: variantKeys.get(variantId) ?? lost(flag), rollout }
    })
    return {
      segment: keys ? { keys, operator } : key,
      rank: rule.rank === n + 1 ? undefined : rule.rank,
      distributions: filled(distributions),
    }
  })
  const rolloutTrees = rollouts.map(({ description, segment, threshold }): Members<'rollout'> => {
    const by = segment && ({ ...bySegments(segment), value: ifTrue(segment.value) } satisfies Members<'rolloutSegment'>)
    const share =
      threshold &&
      ({ percentage: threshold.percentage, value: ifTrue(threshold.value) } satisfies Members<'rolloutThreshold'>)
    return { description: filled(description), segment: by, threshold: share }
  })
  return {
    key: flag.key,
    name: flag.name,
    type: flag.type,
    description: filled(flag.description),
    enabled: flag.enabled,
    metadata:
      Object.keys(flag.metadata).length === 0 ? undefined : { json: escapeControl(JSON.stringify(flag.metadata)) },
    variants: filled(variants),
    rules: filled(ruleTrees),
    rollouts: filled(rolloutTrees),
  }
}

const segmentTree = ({ key, name, description, matchType, constraints }: Segment): Members<'segment'> => {
  const constraintTrees = constraints.map(({ type, property, operator, value, description }): Members<'constraint'> => {
    return { type, property, operator, value: filled(value), description: filled(description) }
  })
  return { key, name, description: filled(description), match_type: matchType, constraints: filled(constraintTrees) }
}

/**
 * Export document of one namespace (api.md §13). Distributions refer to variants by key; `lost` is called if the
 * variant does not exist.
 */
export const documentTree = ({ namespace, flags, segments }: Contents, lost: (flag: Flag) => never): Tree => {
  const { key, name, description } = namespace
  return {
    version: '1.4',
    // An import takes an absent description as unchanged.
    namespace: { key, name, description } satisfies Members<'namespace'>,
    flags: filled(flags.map((each) => flagTree(each, lost))),
    segments: filled(segments.map(segmentTree)),
  }
}
