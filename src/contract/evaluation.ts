import { Type } from 'typebox'
import { Instant, named, type Shown, Text, TextMap, Texts } from './answer.ts'
import { context, entityId, MOST_VALUE_BYTES } from './entity.ts'
import { comparisonTypes, flag, list, object, rolloutTypes, segmentOperators, text } from './readers/fields.ts'
import { input, query, type ReadBy } from './readers/input.ts'
import { atMoment } from './readers/moment.ts'

/** Maximum number of evaluations in one request. */
export const MOST_REQUESTS = 1000

/** Wire names of the reasons (api.md §8.1). */
export const reasonNames = {
  unknown: 'UNKNOWN_EVALUATION_REASON',
  disabled: 'FLAG_DISABLED_EVALUATION_REASON',
  match: 'MATCH_EVALUATION_REASON',
  default: 'DEFAULT_EVALUATION_REASON',
} as const
const Reason = Type.Enum(Object.values(reasonNames))

/** A constraint that did not match, with its content at the moment of the evaluation. */
const FailedConstraint = named('FailedConstraint', {
  id: Text,
  segmentKey: Text,
  type: Type.Enum(comparisonTypes.names),
  property: Text,
  operator: Text,
  value: Text,
})

/** One step of an evaluation (api.md §8.6). */
const TraceStep = named('TraceStep', {
  kind: Type.Enum(['rollout', 'rule']),
  id: Text,
  rank: Type.Integer(),
  matched: Type.Boolean(),
  segmentKeys: Texts,
  failedConstraintIds: Texts,
  askedSegmentKeys: Type.Optional(Texts),
  segmentOperator: Type.Optional(Type.Enum(segmentOperators.names)),
  failedConstraints: Type.Optional(Type.Array(FailedConstraint)),
  type: Type.Optional(Type.Enum(rolloutTypes.names)),
  value: Type.Optional(Type.Boolean()),
  bucket: Type.Optional(Type.Integer()),
  threshold: Type.Optional(Type.Number()),
  distributions: Type.Optional(Type.Array(Type.Object({ variantKey: Text, rollout: Type.Number() }))),
  cumulative: Type.Optional(Type.Array(Type.Integer())),
  variantKey: Type.Optional(Text),
})
export type TraceStep = Shown<typeof TraceStep>

const outcome = {
  reason: Reason,
  segmentKeys: Texts,
  trace: Type.Optional(Type.Array(TraceStep)),
  untried: Type.Optional(Type.Integer()),
}
const common = {
  ...outcome,
  flagKey: Text,
  requestId: Text,
  requestDurationMillis: Type.Number(),
  timestamp: Instant,
}

/** Answer of a flag in a dry run: `enabled` of a Boolean flag, the other fields of a variant flag (api.md §7.9). */
const TrialAnswer = named('TrialAnswer', {
  enabled: Type.Optional(Type.Boolean()),
  match: Type.Optional(Type.Boolean()),
  variantKey: Type.Optional(Text),
  variantAttachment: Type.Optional(Text),
  ...outcome,
})
export type TrialAnswer = Shown<typeof TrialAnswer>
/** Answers of a flag for one entity, at present and after the changes of a dry run. */
export const TrialAnswers = named('TrialAnswers', { present: TrialAnswer, changed: TrialAnswer })

/**
 * Evaluation of a flag for an entity, by flag type (api.md §8.1). `trace` and `untried` are present if an explanation
 * was requested.
 */
export const evaluations = {
  boolean: named('BooleanEvaluation', { enabled: Type.Boolean(), ...common }),
  variant: named('VariantEvaluation', {
    match: Type.Boolean(),
    variantKey: Text,
    variantAttachment: Text,
    ...common,
  }),
} as const
export type BooleanEvaluation = Shown<typeof evaluations.boolean>
export type VariantEvaluation = Shown<typeof evaluations.variant>

/** Wire names of the answer types in a batch. */
export const responseTypes = {
  variant: 'VARIANT_EVALUATION_RESPONSE_TYPE',
  boolean: 'BOOLEAN_EVALUATION_RESPONSE_TYPE',
  error: 'ERROR_EVALUATION_RESPONSE_TYPE',
} as const

const BatchResponse = named('BatchResponse', {
  type: Type.Enum(Object.values(responseTypes)),
  booleanResponse: Type.Optional(evaluations.boolean),
  variantResponse: Type.Optional(evaluations.variant),
  errorResponse: Type.Optional(
    named('EvaluationError', {
      flagKey: Text,
      namespaceKey: Text,
      reason: Type.Enum(['NOT_FOUND_ERROR_EVALUATION_REASON', 'UNKNOWN_ERROR_EVALUATION_REASON']),
    }),
  ),
})
export type BatchResponse = Shown<typeof BatchResponse>
export const BatchEvaluation = named('BatchEvaluation', {
  requestId: Text,
  responses: Type.Array(BatchResponse),
  requestDurationMillis: Type.Number(),
})
export type BatchEvaluation = Shown<typeof BatchEvaluation>

/** Evaluation of a variant flag in the older form (api.md §8.7). */
export const LegacyEvaluation = named('LegacyEvaluation', {
  requestId: Text,
  entityId: Text,
  requestContext: TextMap,
  match: Type.Boolean(),
  flagKey: Text,
  segmentKey: Text,
  timestamp: Instant,
  value: Text,
  requestDurationMillis: Type.Number(),
  attachment: Text,
  reason: Reason,
  namespaceKey: Text,
  segmentKeys: Texts,
})
export type LegacyEvaluation = Shown<typeof LegacyEvaluation>
export const LegacyBatchEvaluation = named('LegacyBatchEvaluation', {
  requestId: Text,
  responses: Type.Array(LegacyEvaluation),
  requestDurationMillis: Type.Number(),
})
export type LegacyBatchEvaluation = Shown<typeof LegacyBatchEvaluation>

/** Text that is not stored, so all characters are allowed. */
const unstored = text({ stored: false })
const required = text({ required: true, stored: false })

/** Body of one evaluation (api.md §8.1), and of a batch. */
export const evaluationBody = input(
  { requestId: unstored, namespaceKey: unstored, flagKey: unstored, entityId, context },
  'EvaluationBody',
)
export const batchBody = input(
  { requestId: unstored, requests: list(object(evaluationBody), { max: MOST_REQUESTS }) },
  'BatchEvaluationBody',
)
export type EvaluationBody = ReadBy<typeof evaluationBody>
export type BatchBody = ReadBy<typeof batchBody>

/** Bodies of evaluations in the older form of the API. */
export const legacyBody = input(
  {
    requestId: unstored,
    namespaceKey: unstored,
    flagKey: required,
    entityId: text({ required: true, stored: false, maxBytes: MOST_VALUE_BYTES }),
    context,
  },
  'LegacyEvaluationBody',
)
export const legacyBatchBody = input(
  {
    requestId: unstored,
    namespaceKey: unstored,
    requests: list(
      object(input({ requestId: unstored, namespaceKey: unstored, flagKey: required, entityId, context })),
      { max: MOST_REQUESTS },
    ),
    excludeNotFound: flag(),
  },
  'LegacyBatchEvaluationBody',
)

/** Queries: the moment of the evaluation, and whether an explanation is requested. */
export const atQuery = query({ at: atMoment })
export const explainQuery = query({ explain: flag(), at: atMoment })
