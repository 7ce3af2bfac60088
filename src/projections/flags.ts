import { moved, replaced, without } from '../events/change.ts'
import { reader } from '../events/define.ts'
import { type Distribution, type FlagEvent, flagEvents, type Rollout, type Rule, type Variant } from '../events/flag.ts'
import { createdBy, type ResourceDoc, resourceModel, type Times, timesAt, updated } from './resource-model.ts'

type Keys<R> = R extends { readonly segments: unknown }
  ? Omit<R, 'segments'> & { readonly segments: readonly string[] }
  : R

export type VariantDoc = Variant & Times
export type DistributionDoc = Distribution & Times
export type RuleDoc = Keys<Rule> & Times & { readonly distributions: readonly DistributionDoc[] }
/** `type` is `percentage` (float32) or `segment` (`segments` and `operator`). */
export type RolloutDoc = Keys<Rollout> & Times

/**
 * A flag with all its parts. Variants and distributions in order of creation, rules and rollouts by rank; segments by
 * their keys.
 */
export type FlagDoc = ResourceDoc & {
  readonly namespace: string
  readonly enabled: boolean
  readonly type: 'variant' | 'boolean'
  readonly metadata: Readonly<Record<string, unknown>>
  readonly defaultVariantId?: string
  readonly variants: readonly VariantDoc[]
  readonly rules: readonly RuleDoc[]
  readonly rollouts: readonly RolloutDoc[]
}

type Uses = readonly { readonly segment: string }[]
const keysOf = (uses: Uses) => uses.map(({ segment }) => segment)
/** An update of a part, with its segments as plain keys. */
const plain = <U extends { readonly segments?: { readonly from: Uses; readonly to: Uses } | undefined }>({
  segments,
  ...update
}: U) => ({
  ...update,
  ...(segments && { segments: { from: keysOf(segments.from), to: keysOf(segments.to) } }),
})
const rolloutDoc = (rollout: Rollout): Keys<Rollout> =>
  rollout.type === 'segment' ? { ...rollout, segments: keysOf(rollout.segments) } : rollout

const inRule = (
  doc: FlagDoc,
  id: string,
  by: (parts: readonly DistributionDoc[]) => readonly DistributionDoc[],
): FlagDoc => ({
  ...doc,
  rules: replaced(doc.rules, id, (rule) => ({ ...rule, distributions: by(rule.distributions) })),
})

/** Keys of the segments that a flag uses. */
export const segmentsAsked = ({ rules, rollouts }: Pick<FlagDoc, 'rules' | 'rollouts'>): ReadonlySet<string> =>
  new Set([...rules, ...rollouts].flatMap((part) => ('segments' in part ? part.segments : [])))

/** Rules and rollouts of a flag that use a segment, each with its rank. */
export const usesOf = ({ rules, rollouts }: Pick<FlagDoc, 'rules' | 'rollouts'>, segment: string) => {
  const asking = (parts: readonly (RuleDoc | RolloutDoc)[], part: 'rule' | 'rollout') =>
    parts.flatMap((of) =>
      'segments' in of && of.segments.includes(segment) ? [{ part, id: of.id, rank: of.rank }] : [],
    )
  return [...asking(rules, 'rule'), ...asking(rollouts, 'rollout')]
}

/** Read model of the flags. */
export const flags = resourceModel<FlagDoc, FlagEvent>({
  name: 'flags',
  version: 5,
  category: 'flag',
  read: reader(flagEvents),
  quiet: new Set(['ReservationVoided']),
  on: {
    FlagCreated: (_, { reservation: _reservation, generation: _generation, ...data }, at) => ({
      ...data,
      variants: [],
      rules: [],
      rollouts: [],
      ...createdBy(at),
    }),
    FlagUpdated: (doc, update, { time }) => doc && updated(doc, update, time),
    FlagDeleted: () => undefined,

    VariantAdded: (doc, { variant }, { time }) =>
      doc && { ...doc, variants: [...doc.variants, { ...variant, ...timesAt(time) }] },
    VariantUpdated: (doc, { variant }, { time }) =>
      doc && {
        ...doc,
        variants: replaced(doc.variants, variant.id, (part) => updated(part, variant, time)),
      },
    VariantRemoved: (doc, { variant }) => {
      if (!doc) return undefined
      const { defaultVariantId: chosen, ...rest } = doc
      const others = (parts: readonly DistributionDoc[]) => parts.filter(({ variantId }) => variantId !== variant)
      const rules = doc.rules.map((rule) => ({ ...rule, distributions: others(rule.distributions) }))
      const kept = chosen === undefined || chosen === variant ? {} : { defaultVariantId: chosen }
      return { ...rest, ...kept, variants: without(doc.variants, variant), rules }
    },

    RuleAdded: (doc, { rule }, { time }) => {
      const added = { ...rule, segments: keysOf(rule.segments), distributions: [], ...timesAt(time) }
      return doc && { ...doc, rules: moved([...doc.rules, added], []) }
    },
    RuleUpdated: (doc, { rule }, { time }) =>
      doc && {
        ...doc,
        rules: replaced(doc.rules, rule.id, (part) => updated(part, plain(rule), time)),
      },
    RuleRemoved: (doc, { rule, moved: moves }, { time }) =>
      doc && { ...doc, rules: moved(without(doc.rules, rule), moves, { updatedAt: time }) },
    RulesReordered: (doc, { moved: moves }, { time }) =>
      doc && { ...doc, rules: moved(doc.rules, moves, { updatedAt: time }) },

    DistributionAdded: (doc, { rule, distribution }, { time }) =>
      doc && inRule(doc, rule, (parts) => [...parts, { ...distribution, ...timesAt(time) }]),
    DistributionUpdated: (doc, { rule, distribution: update }, { time }) =>
      doc && inRule(doc, rule, (parts) => replaced(parts, update.id, (part) => updated(part, update, time))),
    DistributionRemoved: (doc, { rule, distribution }) =>
      doc && inRule(doc, rule, (parts) => without(parts, distribution)),

    RolloutAdded: (doc, { rollout }, { time }) => {
      const added = { ...rolloutDoc(rollout), ...timesAt(time) }
      return doc && { ...doc, rollouts: moved([...doc.rollouts, added], []) }
    },
    RolloutUpdated: (doc, { rollout }, { time }) =>
      doc && {
        ...doc,
        rollouts: replaced(doc.rollouts, rollout.id, (part) => updated(part, plain(rollout), time)),
      },
    RolloutRemoved: (doc, { rollout, moved: moves }, { time }) =>
      doc && { ...doc, rollouts: moved(without(doc.rollouts, rollout), moves, { updatedAt: time }) },
    RolloutsReordered: (doc, { moved: moves }, { time }) =>
      doc && { ...doc, rollouts: moved(doc.rollouts, moves, { updatedAt: time }) },

    ReservationVoided: (doc) => doc,
  },
})
