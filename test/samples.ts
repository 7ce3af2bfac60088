import type { FlagEvent, Rollout, Rule } from '../src/events/flag.ts'
import type { NamespaceEvent } from '../src/events/namespace.ts'
import type { SegmentEvent } from '../src/events/segment.ts'
import type { TokenEvent } from '../src/events/token.ts'

/** Valid events for histories: namespace `ns` in its first incarnation, flag `f`, segment `s`, and a token. */
export const ofFlag = { namespace: 'ns', key: 'f', incarnation: 'life-1' }
export const ofSegment = { namespace: 'ns', key: 's', incarnation: 'life-1' }

export const namespaceCreated = {
  type: 'NamespaceCreated',
  data: { key: 'ns', incarnation: 'life-1', name: 'Name', description: '', protected: false },
} as const satisfies NamespaceEvent

export const flagCreated = {
  type: 'FlagCreated',
  data: {
    ...ofFlag,
    generation: 1,
    reservation: 'reservation-f',
    name: 'Flag',
    description: '',
    enabled: false,
    type: 'variant',
    metadata: { team: 'blue' },
  },
} as const satisfies FlagEvent

export const variantAdded = (id: string, key = `key-${id}`) =>
  ({
    type: 'VariantAdded',
    data: { ...ofFlag, variant: { id, key, name: '', description: '', attachment: '' } },
  }) as const satisfies FlagEvent

export const ruleAdded = (id: string, rank: number, ...segments: Rule['segments']) =>
  ({
    type: 'RuleAdded',
    data: { ...ofFlag, rule: { id, rank, segments, operator: 'or' } },
  }) as const satisfies FlagEvent

export const distributionAdded = (rule: string, id: string, variantId: string, rollout: number) =>
  ({
    type: 'DistributionAdded',
    data: { ...ofFlag, rule, distribution: { id, variantId, rollout } },
  }) as const satisfies FlagEvent

export const rolloutAdded = (rollout: Rollout) =>
  ({ type: 'RolloutAdded', data: { ...ofFlag, rollout } }) as const satisfies FlagEvent

export const segmentCreated = {
  type: 'SegmentCreated',
  data: { ...ofSegment, generation: 1, name: 'Segment', description: '', matchType: 'all' },
} as const satisfies SegmentEvent

export const constraint = {
  id: 'c1',
  type: 'string',
  property: 'plan',
  operator: 'eq',
  value: 'pro',
  description: '',
} as const

export const tokenIssued = {
  type: 'TokenIssued',
  data: {
    id: 't1',
    digest: 'd',
    method: 'token',
    issuedAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-02-01T00:00:00.000Z',
    namespace: 'ns',
    attributes: { 'token.name': 'Deploy' },
    metadata: { team: 'blue' },
  },
} as const satisfies TokenEvent
