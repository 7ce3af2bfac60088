import type { Constraint } from '../../contract/flags/constraint.ts'
import type { Distribution } from '../../contract/flags/distribution.ts'
import type { Flag } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import type { Segment } from '../../contract/flags/segment.ts'
import type { Variant } from '../../contract/flags/variant.ts'
import type { Namespace } from '../../contract/namespace.ts'

/** Document name of each field of a resource; null for fields that a document does not contain (api.md §13). */
type Names<T> = Readonly<Record<keyof T, string | null>>
const times = { createdAt: null, updatedAt: null } as const
const ofFlag = { flagKey: null, namespaceKey: null } as const

/** Document names of the fields of each resource. The compiler reports a field of the contract that is missing here. */
export const documented = {
  namespace: { key: 'key', name: 'name', description: 'description', protected: null, ...times },
  /** The default variant is marked in the list of variants. */
  flag: {
    key: 'key',
    namespaceKey: null,
    name: 'name',
    type: 'type',
    description: 'description',
    enabled: 'enabled',
    metadata: 'metadata',
    variants: 'variants',
    defaultVariant: null,
    ...times,
  },
  variant: {
    id: null,
    ...ofFlag,
    key: 'key',
    name: 'name',
    description: 'description',
    attachment: 'attachment',
    ...times,
  },
  rule: {
    id: null,
    ...ofFlag,
    segmentKey: 'segment',
    segmentKeys: 'segment',
    segmentOperator: 'segment',
    rank: 'rank',
    distributions: 'distributions',
    ...times,
  },
  distribution: { id: null, ruleId: null, variantId: 'variant', rollout: 'rollout', countsAs: null, ...times },
  /** The rank is the order of the list; the parts determine the type. */
  rollout: {
    id: null,
    ...ofFlag,
    type: null,
    rank: null,
    description: 'description',
    segment: 'segment',
    threshold: 'threshold',
    ...times,
  },
  rolloutSegment: { segmentKey: 'key', segmentKeys: 'keys', segmentOperator: 'operator', value: 'value' },
  rolloutThreshold: { percentage: 'percentage', countsAs: null, value: 'value' },
  segment: {
    key: 'key',
    namespaceKey: null,
    name: 'name',
    description: 'description',
    matchType: 'match_type',
    constraints: 'constraints',
    ...times,
  },
  constraint: {
    id: null,
    segmentKey: null,
    namespaceKey: null,
    type: 'type',
    property: 'property',
    operator: 'operator',
    value: 'value',
    description: 'description',
    ...times,
  },
} as const satisfies {
  readonly namespace: Names<Namespace>
  readonly flag: Names<Flag>
  readonly variant: Names<Variant>
  readonly rule: Names<Rule>
  readonly distribution: Names<Distribution>
  readonly rollout: Names<Rollout>
  readonly rolloutSegment: Names<NonNullable<Rollout['segment']>>
  readonly rolloutThreshold: Names<NonNullable<Rollout['threshold']>>
  readonly segment: Names<Segment>
  readonly constraint: Names<Constraint>
}

type Documented = typeof documented
/** Document names of the fields of a resource. */
export type MemberOf<R extends keyof Documented> = Documented[R][keyof Documented[R]] & string

/** Names allowed in a resource of a document. */
export const membersOf = <R extends keyof Documented>(resource: R): readonly MemberOf<R>[] => {
  const names = Object.values(documented[resource]) as readonly (MemberOf<R> | null)[]
  return [...new Set(names.filter((name) => name !== null))]
}
