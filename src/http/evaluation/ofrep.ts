import type { FastifyRequest } from 'fastify'
import { type FieldViolation, invalid, Refusal, refuse } from '../../base/errors.ts'
import type { OfrepEvaluation, OfrepFailure } from '../../contract/ofrep.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { Reason } from '../../evaluation/evaluate.ts'
import type { Context } from '../../evaluation/flag.ts'
import type { Work } from '../../evaluation/segment.ts'
import type { Evaluator } from './evaluator.ts'

const reasons: Readonly<Record<Reason, OfrepEvaluation['reason']>> = {
  unknown: 'UNKNOWN',
  disabled: 'DISABLED',
  match: 'TARGETING_MATCH',
  default: 'DEFAULT',
}

const missingKey: FieldViolation = { field: 'context.targetingKey', description: 'must not be empty' }

/** OFREP error code of a refusal; GENERAL if the protocol has no specific code. */
const codeOf = ({ reason, violation }: Refusal): OfrepFailure['errorCode'] => {
  if (reason === 'not_found') return 'FLAG_NOT_FOUND'
  if (violation === missingKey) return 'TARGETING_KEY_MISSING'
  if (violation && /^context(?:\.|$)/.test(violation.field)) return 'INVALID_CONTEXT'
  return reason === 'malformed_body' ? 'PARSE_ERROR' : 'GENERAL'
}

/** Refusal of an unknown flag, with the text of the protocol. */
export const flagNotFound = (key: string): never => refuse('not_found', `flag was not found ${key}`)

/** Refusal of a context that is not an object. */
export const badContext = (): never => invalid('context', 'must be an object')

const noTargetingKey = (): never =>
  refuse('invalid_argument', `invalid field ${missingKey.field}: ${missingKey.description}`, { violation: missingKey })

/** Failure object in the form of the protocol, for one flag or for a request. */
export const ofrepFailure = (refusal: Refusal, key?: string): OfrepFailure => ({
  ...(key !== undefined && { key }),
  errorCode: codeOf(refusal),
  errorDetails: refusal.message,
})

/** Body of an error answer, of the single-flag route (includes the key) and of the bulk route. */
export const ofrepError = (refusal: Refusal, { params }: FastifyRequest) =>
  ofrepFailure(refusal, (params as Readonly<Record<string, string>>)['key'])

/**
 * Evaluates one flag for OpenFeature (api.md §10); the targeting key is the entity id. If there is no targeting key,
 * only a Boolean flag that reaches no threshold rollout has an answer. `names` includes segments; `work` limits the
 * work of a bulk request.
 */
export const resolve = (
  evaluator: Evaluator,
  { namespace, names }: { readonly namespace: string; readonly names: boolean },
  flag: Compiled,
  context: Context,
  work?: Work,
): OfrepEvaluation => {
  const { key } = flag
  const entityId = Object.hasOwn(context, 'targetingKey') ? context['targetingKey']! : ''
  const asking = { entityId, context, ...(work && { work }) }
  if (flag.type === 'boolean') {
    const { answer } = evaluator.boolean(flag, namespace, asking)
    const { enabled, reason, usedEntity } = answer
    if (usedEntity && entityId === '') noTargetingKey()
    return { key, reason: reasons[reason], variant: String(enabled), metadata: {}, value: enabled }
  }
  if (entityId === '') {
    evaluator.note(flag, namespace)
    noTargetingKey()
  }
  const { answer } = evaluator.variant(flag, namespace, asking)
  const { reason, variantKey, variantAttachment, segmentKeys } = answer
  const metadata = {
    ...(variantAttachment !== '' && { attachment: variantAttachment }),
    ...(names && segmentKeys.length > 0 && { segments: segmentKeys.join(',') }),
  }
  return { key, reason: reasons[reason], variant: variantKey, metadata, value: variantKey }
}

/** Returns the evaluation, or its refusal as an entry of the answer, so that one flag does not fail a bulk request. */
export const entryOf = (key: string, work: () => OfrepEvaluation): OfrepEvaluation | OfrepFailure => {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return ofrepFailure(error, key)
    throw error
  }
}
