import { type Static, Type } from 'typebox'
import { change, changeOfOptional } from './change.ts'
import { type EventOf, v1 } from './define.ts'
import { count, json, key, list, object, oneOf, percent, rank, text, truth, uuid } from './fields.ts'

const name = text('Its name, for people.')
const description = text('What it is for.')
const enabled = truth('Whether it is on.')
const metadata = json('What operators want remembered of it.')
const reservation = uuid("The reservation that it is used under, on the segment's own stream.")

const variant = {
  id: uuid('The variant.'),
  key: text('What an evaluation answers.', 'key, unique in its flag'),
  name,
  description,
  attachment: text('What an evaluation answers beside the key.', 'JSON text, as it was given; `""` for none'),
}
const Variant = object('The variant.', variant)
const variantId = uuid('The variant.')

const operator = oneOf('Whether any of the segments must match or all of them.', ['or', 'and'])
/** A segment as one rule or rollout uses it, under the reservation that stands on the segment's own stream (docs/decisions/0003). */
const segments = list(
  'The segments whose entities it applies to.',
  object('One segment.', { segment: key('The segment.'), reservation }),
)

const ruleId = uuid('The rule.')
const Rule = object('The rule.', {
  id: ruleId,
  rank: rank('When it is tried: by rank, the lowest first.'),
  segments,
  operator,
})
const distributionId = uuid('The distribution.')
const share = percent('The share of the entities of the rule that get the variant.')
const Distribution = object('The distribution.', { id: distributionId, variantId, rollout: share })

const rolloutId = uuid('The rollout.')
const value = truth('What an evaluation answers when the rollout hits.')
const percentage = percent('The share of all entities that it hits.')
const rollout = {
  id: rolloutId,
  rank: rank('When it is tried: by rank, the lowest first.'),
  description,
  value,
}
const kind = <K extends string>(kind: K) => oneOf('What decides whether it hits: a share or segments.', [kind])
const Rollout = Type.Union(
  [
    object('By a share.', { ...rollout, type: kind('threshold'), percentage }),
    object('By segments.', { ...rollout, type: kind('segment'), segments, operator }),
  ],
  {
    description:
      'The rollout: of type `threshold` with `percentage`, or of type `segment` with `segments` and `operator`.',
  },
)

/** New ranks of the parts that moved. */
const movesOf = (id: ReturnType<typeof uuid>) =>
  list(
    'The others that have another rank now.',
    object('One of them.', { id, from: rank('Its rank before.'), to: rank('Its rank from here on.') }),
  )
const ruleMoves = movesOf(ruleId)
const rolloutMoves = movesOf(rolloutId)

/** Every event names its flag and the life of the namespace it belongs to. */
const flag = {
  namespace: key('The namespace.'),
  key: key('The flag.'),
  incarnation: uuid('The life of the namespace that the flag belongs to.'),
}

/** Life of one flag with its variants, rules and rollouts. Stream: flag-{namespace}+{key}. An absent `defaultVariantId` is none. */
export const flagEvents = {
  FlagCreated: v1(
    object('A flag was created, without variants, rules and rollouts yet.', {
      ...flag,
      generation: count("Which life of the namespace's key that is: 1 for the first."),
      reservation: uuid("The flag's reservation on the stream of its namespace."),
      name,
      description,
      enabled,
      type: oneOf('What an evaluation answers: one of its variants, or true or false.', ['variant', 'boolean']),
      metadata,
    }),
  ),
  FlagUpdated: v1(
    object("The flag's own fields changed.", {
      ...flag,
      name: change(name),
      description: change(description),
      enabled: change(enabled),
      defaultVariantId: changeOfOptional(uuid('The variant that is answered where no rule matches.')),
      metadata: change(metadata),
    }),
  ),
  FlagDeleted: v1(object('The flag was deleted with all its parts, which have no events of their own for that.', flag)),
  VariantAdded: v1(object('A variant was added.', { ...flag, variant: Variant })),
  VariantUpdated: v1(
    object('A variant changed.', {
      ...flag,
      variant: object('The variant, with what changed of it.', {
        id: variant.id,
        key: change(variant.key),
        name: change(variant.name),
        description: change(variant.description),
        attachment: change(variant.attachment),
      }),
    }),
  ),
  VariantRemoved: v1(
    object(
      'A variant was removed. Its distributions go with it, and so does its being the default; they have no events of their own.',
      {
        ...flag,
        variant: variantId,
        wasDefault: truth('Whether it was the default variant, of which there is none from here on.'),
        distributions: list(
          'The distributions that went with it.',
          object('One of them.', { rule: ruleId, distribution: distributionId }),
        ),
      },
    ),
  ),
  RuleAdded: v1(object('A rule was added, without distributions yet.', { ...flag, rule: Rule })),
  RuleUpdated: v1(
    object('A rule applies to other segments, or joins them otherwise.', {
      ...flag,
      rule: object('The rule, with what changed of it.', {
        id: ruleId,
        segments: change(segments),
        operator: change(operator),
      }),
    }),
  ),
  RuleRemoved: v1(object('A rule was removed, with its distributions.', { ...flag, rule: ruleId, moved: ruleMoves })),
  RulesReordered: v1(object('The rules are tried in another order.', { ...flag, moved: ruleMoves })),
  DistributionAdded: v1(
    object('A rule gives a share of its entities to one more variant.', {
      ...flag,
      rule: ruleId,
      distribution: Distribution,
    }),
  ),
  DistributionUpdated: v1(
    object('A share changed, or went to another variant.', {
      ...flag,
      rule: ruleId,
      distribution: object('The distribution, with what changed of it.', {
        id: distributionId,
        variantId: change(variantId),
        rollout: change(share),
      }),
    }),
  ),
  DistributionRemoved: v1(
    object('A rule gives no share to this variant any more.', { ...flag, rule: ruleId, distribution: distributionId }),
  ),
  RolloutAdded: v1(object('A rollout was added.', { ...flag, rollout: Rollout })),
  RolloutUpdated: v1(
    object('A rollout changed; its type never does.', {
      ...flag,
      rollout: object('The rollout, with what changed of it.', {
        id: rolloutId,
        description: change(description),
        value: change(value),
        percentage: change(percentage),
        segments: change(segments),
        operator: change(operator),
      }),
    }),
  ),
  RolloutRemoved: v1(object('A rollout was removed.', { ...flag, rollout: rolloutId, moved: rolloutMoves })),
  RolloutsReordered: v1(object('The rollouts are tried in another order.', { ...flag, moved: rolloutMoves })),
  ReservationVoided: v1(
    object(
      'Whoever made this reservation was given up, so that what it was made on can be deleted: no flag, rule or rollout will ever be written under it (decision 3).',
      { ...flag, reservation: uuid('The reservation that is given up.') },
    ),
  ),
}

export type FlagEvent = EventOf<typeof flagEvents>
export type Variant = Readonly<Static<typeof Variant>>
export type Rule = Readonly<Static<typeof Rule>>
export type Distribution = Readonly<Static<typeof Distribution>>
export type Rollout = Readonly<Static<typeof Rollout>>
export type SegmentOperator = Static<typeof operator>
export type Use = Readonly<Static<typeof segments>[number]>
export type Move = Readonly<Static<typeof ruleMoves>[number]>
