import { type Static, Type } from 'typebox'
import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'

const Text = Type.String()
const Rank = Type.Integer()
/** New ranks of the parts that moved. */
const Moves = Type.Array(Type.Object({ id: Text, from: Rank, to: Rank }))
const Operator = Type.Union([Type.Literal('or'), Type.Literal('and')])
/** A segment as one rule or rollout uses it, under the reservation that stands on the segment's own stream (docs/decisions/0003). */
const Uses = Type.Array(Type.Object({ segment: Text, reservation: Text }))
const Metadata = Type.Record(Text, Type.Unknown())

const Variant = Type.Object({ id: Text, key: Text, name: Text, description: Text, attachment: Text })
const Rule = Type.Object({ id: Text, rank: Rank, segments: Uses, operator: Operator })
const Distribution = Type.Object({ id: Text, variantId: Text, rollout: Type.Number() })
const rollout = { id: Text, rank: Rank, description: Text, value: Type.Boolean() }
const Rollout = Type.Union([
  Type.Object({ ...rollout, type: Type.Literal('threshold'), percentage: Type.Number() }),
  Type.Object({ ...rollout, type: Type.Literal('segment'), segments: Uses, operator: Operator }),
])

/** Every event names its flag and the life of the namespace it belongs to. */
const flag = { namespace: Text, key: Text, incarnation: Text }

/** Life of one flag with its variants, rules and rollouts. Stream: flag-{namespace}+{key}. Percentages are float32 values, attachments JSON texts; an absent `defaultVariantId` is none. */
export const flagEvents = {
  /** `generation` counts the lives of the namespace's key; `reservation` is the flag's registration on the namespace's stream. */
  FlagCreated: v1(
    Type.Object({
      ...flag,
      generation: Type.Integer(),
      reservation: Text,
      name: Text,
      description: Text,
      enabled: Type.Boolean(),
      type: Type.Union([Type.Literal('variant'), Type.Literal('boolean')]),
      metadata: Metadata,
    }),
  ),
  FlagUpdated: v1(
    Type.Object({
      ...flag,
      name: change(Text),
      description: change(Text),
      enabled: change(Type.Boolean()),
      defaultVariantId: Type.Optional(Type.Object({ from: Type.Optional(Text), to: Type.Optional(Text) })),
      metadata: change(Metadata),
    }),
  ),
  FlagDeleted: v1(Type.Object(flag)),
  VariantAdded: v1(Type.Object({ ...flag, variant: Variant })),
  VariantUpdated: v1(
    Type.Object({
      ...flag,
      variant: Type.Object({
        id: Text,
        key: change(Text),
        name: change(Text),
        description: change(Text),
        attachment: change(Text),
      }),
    }),
  ),
  /** Its distributions go with it, and so does its being the default. */
  VariantRemoved: v1(
    Type.Object({
      ...flag,
      variant: Text,
      wasDefault: Type.Boolean(),
      distributions: Type.Array(Type.Object({ rule: Text, distribution: Text })),
    }),
  ),
  RuleAdded: v1(Type.Object({ ...flag, rule: Rule })),
  RuleUpdated: v1(
    Type.Object({ ...flag, rule: Type.Object({ id: Text, segments: change(Uses), operator: change(Operator) }) }),
  ),
  RuleRemoved: v1(Type.Object({ ...flag, rule: Text, moved: Moves })),
  RulesReordered: v1(Type.Object({ ...flag, moved: Moves })),
  DistributionAdded: v1(Type.Object({ ...flag, rule: Text, distribution: Distribution })),
  DistributionUpdated: v1(
    Type.Object({
      ...flag,
      rule: Text,
      distribution: Type.Object({ id: Text, variantId: change(Text), rollout: change(Type.Number()) }),
    }),
  ),
  DistributionRemoved: v1(Type.Object({ ...flag, rule: Text, distribution: Text })),
  RolloutAdded: v1(Type.Object({ ...flag, rollout: Rollout })),
  RolloutUpdated: v1(
    Type.Object({
      ...flag,
      rollout: Type.Object({
        id: Text,
        description: change(Text),
        value: change(Type.Boolean()),
        percentage: change(Type.Number()),
        segments: change(Uses),
        operator: change(Operator),
      }),
    }),
  ),
  RolloutRemoved: v1(Type.Object({ ...flag, rollout: Text, moved: Moves })),
  RolloutsReordered: v1(Type.Object({ ...flag, moved: Moves })),
  /** No flag, rule or rollout will ever be written under this reservation: its writer was given up (docs/decisions/0003). */
  ReservationVoided: v1(Type.Object({ ...flag, reservation: Text })),
}

export type FlagEvent = EventOf<typeof flagEvents>
export type Variant = Readonly<Static<typeof Variant>>
export type Rule = Readonly<Static<typeof Rule>>
export type Distribution = Readonly<Static<typeof Distribution>>
export type Rollout = Readonly<Static<typeof Rollout>>
export type SegmentOperator = Static<typeof Operator>
export type Use = Readonly<Static<typeof Uses>[number]>
export type Move = Readonly<Static<typeof Moves>[number]>
