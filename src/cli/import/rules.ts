import { Refusal, refuse, invalid } from '../../errors.ts'
import { checkConstraint } from '../../evaluation/operators.ts'
import { attachment } from '../../contract/attachment.ts'
import { comparisonTypes, flagTypes, matchTypes } from '../../contract/enums.ts'
import { float, flag as truth, object, optional, text } from '../../contract/fields.ts'
import { input } from '../../contract/input.ts'
import { metadata } from '../../contract/metadata.ts'
import { rank, segmentFields, segmentsGiven } from '../../contract/rule-fields.ts'
import { description, key, name } from '../../contract/resource.ts'

/** Something that keeps a document from being imported. */
export type Problem = {
  readonly path: string
  readonly message: string
  readonly exit: 'failed' | 'conflict' | 'notFound'
}

const namespace = input({ key, name, description })
const flag = input({
  key,
  name,
  description,
  enabled: truth(),
  type: flagTypes.field('variant'),
  metadata: optional(metadata),
})
const variant = input({
  key: text({ required: true, max: 255, control: false }),
  name: text({ max: 255 }),
  description,
  attachment,
})
const segment = input({ key, name, description, matchType: matchTypes.field('all') })
const constraint = input({
  type: comparisonTypes.field('unknown'),
  property: text({ required: true, max: 255 }),
  operator: text({ required: true }),
  value: text(),
  description,
})
const rule = input({ ...segmentFields, rank })
const distribution = input({ rollout: float() })
const rollout = input({
  description,
  segment: optional(object(input({ ...segmentFields, value: truth() }))),
  threshold: optional(object(input({ percentage: float(), value: truth() }))),
})

type Body = Readonly<Record<string, unknown>>
const share = (body: Body): number => {
  const { rollout } = distribution.read(body)
  if (rollout < 0) invalid('rollout', "must be greater than or equal to '0'")
  return rollout > 100 ? invalid('rollout', "must be less than or equal to '100'") : rollout
}

const CHECKS = {
  namespace: namespace.read,
  flag: flag.read,
  variant: variant.read,
  segment: segment.read,
  constraint: (body: Body) => {
    const found = checkConstraint(constraint.read(body))
    if (found.kind === 'field') invalid(found.field, found.description)
    if (found.kind === 'refused') refuse('invalid_argument', found.message)
  },
  rule: (body: Body) => segmentsGiven(rule.read(body)),
  distribution: share,
  distributions: (body: Body) => {
    const total = (body['shares'] as readonly Body[]).reduce((sum, each) => sum + share(each), 0)
    if (total > 100.001) invalid('rollout', 'distributions of a rule must not exceed 100 in total')
  },
  rollout: (body: Body) => {
    const { segment, threshold } = rollout.read(body)
    if (segment && threshold) invalid('rule', 'only one of segment or threshold can be present')
    if (segment) segmentsGiven(segment)
    else if (!threshold) refuse('invalid_argument', 'rollout rule is missing')
    else if (threshold.percentage < 0 || threshold.percentage > 100)
      invalid('threshold.percentage', 'must be within range [0, 100]')
  },
} as const satisfies Readonly<Record<string, (body: Body) => unknown>>

/** What the service would say to the body of a request (api.md §7.3), by the readers that it reads with; none when it would take it. */
export const problemsOf = (kind: keyof typeof CHECKS, path: string, body: object): readonly Problem[] => {
  try {
    CHECKS[kind]({ ...body })
    return []
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [{ path, message: error.message, exit: 'failed' }]
  }
}
