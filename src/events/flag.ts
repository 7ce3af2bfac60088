import { type Static, Type } from 'typebox'
import { change, changeOfOptional } from './change.ts'
import { type EventOf, v1 } from './define.ts'
import { count, json, key, list, object, oneOf, percent, rank, text, truth, uuid } from './fields.ts'

/** Returns the number with the shortest decimal text (in JSON) that reads back to the same float32, such as 33.33. */
export const shortFloat32 = (value: number): number => {
  const float = Math.fround(value)
  if (!Number.isFinite(float)) return float
  // Nine digits distinguish any two float32 values.
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(float.toPrecision(digits))
    if (Math.fround(short) === float) return short
  }
  return Number(float.toPrecision(9))
}

const name = text('Name of the flag for people, such as in the web UI.')
const description = text('Description of the purpose.')
const enabled = truth('Whether the flag is enabled.')
const metadata = json('Metadata that operators attached.')
const reservation = uuid("The reservation for this use, recorded on the segment's stream.")

const variant = {
  id: uuid('Id of the variant.'),
  key: text('Key that an evaluation returns.', 'key, unique in its flag'),
  name,
  description,
  attachment: text('Attachment that an evaluation returns with the variant key.', 'JSON text; `""` for none'),
}
const Variant = object('The variant.', variant)
const variantId = uuid('Id of the variant.')

const operator = oneOf('Whether one matching segment is enough (`or`) or all must match (`and`).', ['or', 'and'])
/** A segment that a rule or rollout uses, with the reservation on the segment's stream (docs/decisions/0003). */
const segments = list(
  'The segments whose entities match.',
  object('A segment.', { segment: key('Key of the segment.'), reservation }),
)

const ruleId = uuid('Id of the rule.')
const Rule = object('The rule.', {
  id: ruleId,
  rank: rank('Order of evaluation: the lowest rank first.'),
  segments,
  operator,
})
const distributionId = uuid('Id of the distribution.')
const share = percent('Percentage of the matching entities that get the variant.')
const Distribution = object('The distribution.', { id: distributionId, variantId, rollout: share })

const rolloutId = uuid('Id of the rollout.')
const value = truth('Value that an evaluation returns if the rollout matches.')
const percentage = percent('Percentage of all entities that match.')
const rollout = {
  id: rolloutId,
  rank: rank('Order of evaluation: the lowest rank first.'),
  description,
  value,
}
const kind = <K extends string>(kind: K) => oneOf('Type of the rollout: by percentage or by segments.', [kind])
const Rollout = Type.Union(
  [
    object('By percentage.', { ...rollout, type: kind('threshold'), percentage }),
    object('By segments.', { ...rollout, type: kind('segment'), segments, operator }),
  ],
  {
    description:
      'The rollout: of type `threshold` with `percentage`, or of type `segment` with `segments` and `operator`.',
  },
)

/** Rank changes of other parts. */
const movesOf = (id: ReturnType<typeof uuid>) =>
  list(
    'The rules or rollouts whose rank changed.',
    object('A part.', { id, from: rank('Rank before the change.'), to: rank('Rank after the change.') }),
  )
const ruleMoves = movesOf(ruleId)
const rolloutMoves = movesOf(rolloutId)

/** Identifies the flag and the incarnation of its namespace in every event. */
const flag = {
  namespace: key('Key of the namespace.'),
  key: key('Key of the flag.'),
  incarnation: uuid('Id of the incarnation of the namespace. Each creation of a namespace has a new id.'),
}

/**
 * Lifecycle of a flag with its variants, rules and rollouts. Stream: flag-{namespace}+{key}. An absent
 * `defaultVariantId` means none.
 */
export const flagEvents = {
  FlagCreated: v1(
    object('A flag was created. A new flag has no variants, rules or rollouts.', {
      ...flag,
      generation: count("Number of the incarnation of the namespace's key: 1 for the first."),
      reservation: uuid("The flag's reservation on the stream of its namespace."),
      name,
      description,
      enabled,
      type: oneOf('Kind of result of an evaluation: one of the variants, or a boolean.', ['variant', 'boolean']),
      metadata,
    }),
  ),
  FlagUpdated: v1(
    object('Fields of the flag itself changed.', {
      ...flag,
      name: change(name),
      description: change(description),
      enabled: change(enabled),
      defaultVariantId: changeOfOptional(uuid('Id of the variant that is returned if no rule matches.')),
      metadata: change(metadata),
    }),
  ),
  FlagDeleted: v1(
    object('The flag was deleted with all its parts. The parts have no deletion events of their own.', flag),
  ),
  VariantAdded: v1(object('A variant was added.', { ...flag, variant: Variant })),
  VariantUpdated: v1(
    object('A variant changed.', {
      ...flag,
      variant: object('The variant and its changed fields.', {
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
      'A variant was removed together with its distributions. If it was the default variant, the flag has no default any more. Removing its distributions writes no separate events.',
      {
        ...flag,
        variant: variantId,
        wasDefault: truth('Whether the removed variant was the default variant.'),
        distributions: list(
          'The distributions that were removed together with the variant.',
          object('A distribution.', { rule: ruleId, distribution: distributionId }),
        ),
      },
    ),
  ),
  RuleAdded: v1(object('A rule was added. A new rule has no distributions.', { ...flag, rule: Rule })),
  RuleUpdated: v1(
    object('The segments or the operator of a rule changed.', {
      ...flag,
      rule: object('The rule and its changed fields.', {
        id: ruleId,
        segments: change(segments),
        operator: change(operator),
      }),
    }),
  ),
  RuleRemoved: v1(object('A rule was removed, with its distributions.', { ...flag, rule: ruleId, moved: ruleMoves })),
  RulesReordered: v1(object('The order of the rules changed.', { ...flag, moved: ruleMoves })),
  DistributionAdded: v1(
    object('A distribution was added to a rule.', {
      ...flag,
      rule: ruleId,
      distribution: Distribution,
    }),
  ),
  DistributionUpdated: v1(
    object('The percentage or the variant of a distribution changed.', {
      ...flag,
      rule: ruleId,
      distribution: object('The distribution and its changed fields.', {
        id: distributionId,
        variantId: change(variantId),
        rollout: change(share),
      }),
    }),
  ),
  DistributionRemoved: v1(
    object('A distribution was removed from a rule.', { ...flag, rule: ruleId, distribution: distributionId }),
  ),
  RolloutAdded: v1(object('A rollout was added.', { ...flag, rollout: Rollout })),
  RolloutUpdated: v1(
    object('A rollout changed. The type of a rollout never changes.', {
      ...flag,
      rollout: object('The rollout and its changed fields.', {
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
  RolloutsReordered: v1(object('The order of the rollouts changed.', { ...flag, moved: rolloutMoves })),
  ReservationVoided: v1(
    object(
      'An unused reservation was voided, so that its namespace or segment can be deleted. No flag, rule or rollout can use this reservation any more (decision 3).',
      { ...flag, reservation: uuid('Id of the voided reservation.') },
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
