import { constraintBody } from '../../contract/flags/constraint.ts'
import { share } from '../../contract/flags/distribution.ts'
import { newFlag } from '../../contract/flags/flag.ts'
import { newRollout, rolloutPart } from '../../contract/flags/rollout.ts'
import { newRule } from '../../contract/flags/rule.ts'
import { segmentsGiven } from '../../contract/flags/rule-fields.ts'
import { newSegment } from '../../contract/flags/segment.ts'
import { variantBody } from '../../contract/flags/variant.ts'
import { newNamespace } from '../../contract/namespace.ts'
import { invalid, Refusal, refuse } from '../../errors.ts'
import { checkConstraint } from '../../evaluation/operators.ts'

/** A problem that prevents the import of a document. */
export type Problem = {
  readonly path: string
  readonly message: string
  readonly exit: 'failed' | 'conflict' | 'notFound'
}

type Body = Readonly<Record<string, unknown>>
const CHECKS = {
  namespace: newNamespace.read,
  flag: newFlag.read,
  variant: variantBody.read,
  segment: newSegment.read,
  constraint: (body: Body) => {
    const found = checkConstraint(constraintBody.read(body))
    if (found.kind === 'field') invalid(found.field, found.description)
    if (found.kind === 'refused') refuse('invalid_argument', found.message)
  },
  rule: (body: Body) => segmentsGiven(newRule.read(body)),
  distribution: ({ rollout }: Body) => share.read(rollout, 'rollout'),
  distributions: (body: Body) => {
    const total = (body['shares'] as readonly Body[]).reduce(
      (sum, each) => sum + share.read(each['rollout'], 'rollout'),
      0,
    )
    if (total > 100.001) invalid('rollout', 'distributions of a rule must not exceed 100 in total')
  },
  rollout: (body: Body) =>
    rolloutPart(newRollout.read(body), () => refuse('invalid_argument', 'rollout rule is missing')),
} as const satisfies Readonly<Record<string, (body: Body) => unknown>>

/**
 * Problems that the service would report for the body of a request (api.md §7.3). The checks use the field readers of
 * the service.
 */
export const problemsOf = (kind: keyof typeof CHECKS, path: string, body: object): readonly Problem[] => {
  try {
    CHECKS[kind]({ ...body })
    return []
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [{ path, message: error.message, exit: 'failed' }]
  }
}
