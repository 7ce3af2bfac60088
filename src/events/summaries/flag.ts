import { changeFields } from '../change.ts'
import type { DataOf } from '../define.ts'
import { type FlagEvent, flagEvents, type Rule, shortFloat32 } from '../flag.ts'
import { namespaceEvents } from '../namespace.ts'
import { type SegmentEvent, segmentEvents } from '../segment.ts'
import { changedFields, counted, joined, plain, quoted, type Summaries } from './sentence.ts'

const namespaceOf = ({ key }: { readonly key: string }) => `namespace ${plain(key)}`

const segmentOf = ({ namespace, key }: SegmentEvent['data']) => `segment ${plain(namespace)}/${plain(key)}`

const flagOf = ({ namespace, key }: FlagEvent['data']) => `flag ${plain(namespace)}/${plain(key)}`

const percentText = (percent: number): string => `${shortFloat32(percent)} %`

/** Segments with the word of their operator: `segments beta or staff`. */
const segmentsText = ({ segments, operator }: Pick<Rule, 'segments' | 'operator'>): string => {
  const keys = segments.map(({ segment }) => plain(segment))
  return `segment${keys.length === 1 ? '' : 's'} ${joined(keys, operator)}`
}

/** Name of the only changed field, or undefined. */
const soleChange = (data: DataOf<FlagEvent, 'FlagUpdated'>): string | undefined => {
  const fields = changeFields(flagEvents.FlagUpdated.schema).filter((name) => Object.hasOwn(data, name))
  return fields.length === 1 ? fields[0] : undefined
}

/**
 * Summaries of the events of namespaces, flags and segments. They omit the values of constraints, because these may
 * contain personal data.
 */
export const flagSummaries: Summaries<'namespace' | 'flag' | 'segment'> = {
  namespace: {
    NamespaceCreated: (data) => `${namespaceOf(data)} created`,
    NamespaceUpdated: (data) =>
      `${namespaceOf(data)}: ${changedFields(namespaceEvents.NamespaceUpdated.schema, data)} changed`,
    NamespaceDeleted: (data) => `${namespaceOf(data)} deleted${data.force ? ', forced' : ''}`,
    FlagRegistered: (data) => `${namespaceOf(data)}: flag ${plain(data.flag)} reserved`,
    FlagUnregistered: (data) => `${namespaceOf(data)}: reservation of flag ${plain(data.flag)} released`,
  },
  flag: {
    FlagCreated: (data) => `${flagOf(data)} created, type ${data.type}, switched ${data.enabled ? 'on' : 'off'}`,
    FlagUpdated: (data) =>
      data.enabled && soleChange(data) === 'enabled'
        ? `${flagOf(data)} switched ${data.enabled.to ? 'on' : 'off'}`
        : `${flagOf(data)}: ${changedFields(flagEvents.FlagUpdated.schema, data)} changed`,
    FlagDeleted: (data) => `${flagOf(data)} deleted`,
    VariantAdded: (data) => `${flagOf(data)}: variant ${quoted(data.variant.key)} added`,
    VariantUpdated: (data) => {
      const fields = changedFields(flagEvents.VariantUpdated.schema.properties.variant, data.variant)
      return `${flagOf(data)}, variant ${plain(data.variant.id)}: ${fields} changed`
    },
    VariantRemoved: (data) => {
      const { variant, wasDefault, distributions } = data
      const also = distributions.length > 0 ? `, with ${counted(distributions.length, 'distribution')}` : ''
      return `${flagOf(data)}: variant ${plain(variant)} removed${wasDefault ? ', it was the default' : ''}${also}`
    },
    RuleAdded: (data) => `${flagOf(data)}: rule added at rank ${data.rule.rank}, ${segmentsText(data.rule)}`,
    RuleUpdated: (data) => {
      const fields = changedFields(flagEvents.RuleUpdated.schema.properties.rule, data.rule)
      return `${flagOf(data)}, rule ${plain(data.rule.id)}: ${fields} changed`
    },
    RuleRemoved: (data) => `${flagOf(data)}: rule ${plain(data.rule)} removed`,
    RulesReordered: (data) => `${flagOf(data)}: ${counted(data.moved.length, 'rule')} moved`,
    DistributionAdded: (data) => {
      const { rollout, variantId } = data.distribution
      const added = `distribution added, ${percentText(rollout)} variant ${plain(variantId)}`
      return `${flagOf(data)}, rule ${plain(data.rule)}: ${added}`
    },
    DistributionUpdated: (data) => {
      const { rule, distribution } = data
      const fields = changedFields(flagEvents.DistributionUpdated.schema.properties.distribution, distribution)
      return `${flagOf(data)}, rule ${plain(rule)}, distribution ${plain(distribution.id)}: ${fields} changed`
    },
    DistributionRemoved: (data) =>
      `${flagOf(data)}, rule ${plain(data.rule)}: distribution ${plain(data.distribution)} removed`,
    RolloutAdded: (data) => {
      const { rollout } = data
      const matched = rollout.type === 'threshold' ? percentText(rollout.percentage) : segmentsText(rollout)
      return `${flagOf(data)}: rollout added at rank ${rollout.rank}, ${matched} ${rollout.value}`
    },
    RolloutUpdated: (data) => {
      const fields = changedFields(flagEvents.RolloutUpdated.schema.properties.rollout, data.rollout)
      return `${flagOf(data)}, rollout ${plain(data.rollout.id)}: ${fields} changed`
    },
    RolloutRemoved: (data) => `${flagOf(data)}: rollout ${plain(data.rollout)} removed`,
    RolloutsReordered: (data) => `${flagOf(data)}: ${counted(data.moved.length, 'rollout')} moved`,
    ReservationVoided: (data) => `${flagOf(data)}: reservation ${plain(data.reservation)} voided`,
  },
  segment: {
    SegmentCreated: (data) => `${segmentOf(data)} created, matches ${data.matchType} constraints`,
    SegmentUpdated: (data) => `${segmentOf(data)}: ${changedFields(segmentEvents.SegmentUpdated.schema, data)} changed`,
    SegmentDeleted: (data) => `${segmentOf(data)} deleted`,
    ConstraintAdded: (data) =>
      `${segmentOf(data)}: constraint added, ${quoted(data.constraint.property)} ${plain(data.constraint.operator)}`,
    ConstraintUpdated: (data) => {
      const fields = changedFields(segmentEvents.ConstraintUpdated.schema.properties.constraint, data.constraint)
      return `${segmentOf(data)}, constraint ${plain(data.constraint.id)}: ${fields} changed`
    },
    ConstraintRemoved: (data) => `${segmentOf(data)}: constraint ${plain(data.constraint)} removed`,
    SegmentAttached: (data) => `${segmentOf(data)} reserved for flag ${plain(data.flag)}`,
    SegmentDetached: (data) => `${segmentOf(data)}: reservation for flag ${plain(data.flag)} released`,
  },
}
