import type { FastifyInstance } from 'fastify'
import {
  atQuery,
  type BatchBody,
  BatchEvaluation,
  type BatchResponse,
  batchBody,
  MOST_REQUESTS,
  responseTypes,
} from '../../contract/evaluation.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'
import { type Work, workTogether } from '../../evaluation/segment.ts'
import { type Evaluator, type Flags, since } from '../evaluation/evaluator.ts'
import {
  insistOnClient,
  mostBytesFor,
  namespaceIn,
  namespaceOrDefault,
  requestIdOf,
  requestsIn,
  showsSegments,
  withFlags,
} from '../evaluation/request.ts'
import { type Call, route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { EvaluationService } from '../services/flags.ts'
import type { Caller } from '../wire/caller.ts'

import { allOf, type Made } from '../wire/pieces.ts'
import { type Json, jsonOf } from '../wire/reply.ts'

type Batch = Call<BatchBody, ReadBy<typeof atQuery>>
type One = Batch['body']['requests'][number]

const namespacesAsked = (body: Raw) => requestsIn(body).map((one) => namespaceOrDefault(namespaceIn(one)))

/**
 * POST /evaluate/v1/batch (api.md §8.1): answers in request order. An unknown or unreadable flag is an error entry; any
 * other error fails the batch.
 */
export const evaluateBatchRoutes = (app: FastifyInstance, service: EvaluationService, evaluator: Evaluator): void => {
  const { monotonic } = service.clock
  const entry = (flags: Flags, caller: Caller, one: One, work: Work): Made<BatchResponse> => {
    const { requestId, namespaceKey, flagKey, entityId, context } = one
    const namespace = namespaceOrDefault(namespaceKey)
    const failed = (reason: 'NOT_FOUND_ERROR_EVALUATION_REASON' | 'UNKNOWN_ERROR_EVALUATION_REASON') => () =>
      jsonOf<BatchResponse>({
        type: responseTypes.error,
        errorResponse: { flagKey, namespaceKey: namespace, reason },
      })
    const flag = evaluator.lookOrClosed(flags, namespace, flagKey)
    if (flag === 'closed') return failed('UNKNOWN_ERROR_EVALUATION_REASON')
    if (!flag) return failed('NOT_FOUND_ERROR_EVALUATION_REASON')
    const { cached, millis, timestamp } = evaluator[flag.type](flag, namespace, { entityId, context, work })
    const { type } = flag
    const isNamed = showsSegments(caller, namespace)
    return () => {
      const members = isNamed ? cached.json() : cached.unnamed()
      const response = `{${members},"requestId":${JSON.stringify(requestId)},"requestDurationMillis":${millis},"timestamp":"${timestamp}"}`
      return `{"type":"${responseTypes[type]}","${type}Response":${response}}` as Json<BatchResponse>
    }
  }

  const answer = (call: Batch, flags: Flags) => {
    const { body, request, caller } = call
    const start = monotonic()
    const around = () => ({
      before: { requestId: requestIdOf(body.requestId, request) },
      after: { requestDurationMillis: since(monotonic, start) },
    })
    const work = workTogether()
    const make = (one: One) => {
      insistOnClient(request)
      return entry(flags, caller, one, work)
    }
    return allOf(call, body.requests, mostBytesFor(service, caller), make, 'responses', around)
  }

  route(app, {
    method: 'POST',
    url: '/evaluate/v1/batch',
    ...ordinary,
    access: { credential: 'evaluation', namespace: { body: namespacesAsked }, right: 'flag.evaluate' },
    writes: false,
    tag: 'Evaluation',
    summary: `Evaluate up to ${MOST_REQUESTS} flags of any type in one request.`,
    hot: true,
    body: batchBody,
    query: atQuery,
    errors: ['answer_too_large', 'invalid_at', 'view_behind'],
    answer: BatchEvaluation,
    run: (call) => {
      const wanted = () =>
        call.body.requests.map(({ namespaceKey, flagKey }) => [namespaceOrDefault(namespaceKey), flagKey] as const)
      return withFlags(service, call, wanted, (flags) => answer(call, flags))
    },
  })
}
