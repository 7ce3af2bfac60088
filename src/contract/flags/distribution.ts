import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import { Float32, named, type Shown, Text, times } from '../answer.ts'
import type { Field } from '../readers/field.ts'
import { float, text } from '../readers/fields.ts'
import { input, query } from '../readers/input.ts'

/** Percentage of a rule's entities that get a variant; `countsAs` if the buckets give another one (api.md §7.2). */
export const Distribution = named('Distribution', {
  id: Text,
  ruleId: Text,
  variantId: Text,
  rollout: Float32,
  countsAs: Type.Optional(Type.Number()),
  ...times,
})
export type Distribution = Shown<typeof Distribution>

const { schema, read } = float()
/** Percentage of the entities, 0 to 100. */
export const share: Field<number> = {
  schema,
  optional: true,
  read: (value, name) => {
    const share = read(value, name)
    if (share < 0) invalid(name, "must be greater than or equal to '0'")
    return share > 100 ? invalid(name, "must be less than or equal to '100'") : share
  },
}

const variantId = text({ required: true })
/** Body that creates or replaces a distribution. */
export const distributionBody = input({ variantId, rollout: share }, 'DistributionBody')
/** Query of a deletion: the variant of the distribution. */
export const distributionDeletion = query({ variantId })
