import type { FastifyInstance } from 'fastify'
import {
  type BooleanEvaluation,
  type EvaluationBody,
  evaluationBody,
  evaluations,
  explainQuery,
  type VariantEvaluation,
} from '../../contract/evaluation.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import type { Trace } from '../../evaluation/trace.ts'
import type { Evaluator, Flags } from '../evaluation/evaluator.ts'
import { namespaceAsked, namespaceOrDefault, requestIdJson, showsSegments, withFlags } from '../evaluation/request.ts'
import { traceJson } from '../evaluation/trace.ts'
import { type Call, route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { EvaluationService } from '../services/flags.ts'
import { type Answer, type Json, written } from '../wire/reply.ts'

type EvaluationKind = keyof typeof evaluations
type EvaluationRequest = Call<EvaluationBody, ReadBy<typeof explainQuery>>
type Said = BooleanEvaluation | VariantEvaluation

/** POST /evaluate/v1/boolean and /evaluate/v1/variant (api.md §8.1 to §8.6). */
export const evaluateRoutes = (app: FastifyInstance, service: EvaluationService, evaluator: Evaluator): void => {
  const answer = (
    kind: EvaluationKind,
    { body, query, request, caller }: EvaluationRequest,
    flags: Flags,
  ): Answer<Said> => {
    const { entityId, context } = body
    const namespace = namespaceOrDefault(body.namespaceKey)
    const trace: Trace | undefined = query.explain ? [] : undefined
    const flag = evaluator.find(flags, namespace, body.flagKey)
    const { cached, millis, timestamp } = evaluator[kind](flag, namespace, { entityId, context, trace })
    const id = requestIdJson(body.requestId, request)
    const steps = trace ? `,${traceJson(trace, flag)}` : ''
    const members = showsSegments(caller, namespace) ? cached.json() : cached.unnamed()
    const json = `{${members},"requestId":${id},"requestDurationMillis":${millis},"timestamp":"${timestamp}"${steps}}`
    return written(json as Json<Said>)
  }

  for (const kind of ['boolean', 'variant'] as const) {
    route(app, {
      method: 'POST',
      url: `/evaluate/v1/${kind}`,
      ...ordinary,
      access: { credential: 'evaluation', namespace: { body: namespaceAsked }, right: 'flag.evaluate' },
      writes: false,
      tag: 'Evaluation',
      summary: `Evaluate a ${kind} flag for an entity.`,
      hot: true,
      body: evaluationBody,
      query: explainQuery,
      errors: ['not_found', 'wrong_flag_type', 'invalid_at', 'view_behind'],
      answer: evaluations[kind],
      run: (call) => {
        const { query, body } = call
        if (query.at === undefined) return answer(kind, call, service.flagStore)
        const wanted = () => [[namespaceOrDefault(body.namespaceKey), body.flagKey]] as const
        return withFlags(service, call, wanted, (flags) => answer(kind, call, flags))
      },
    })
  }
}
