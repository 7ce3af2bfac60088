import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { invalid } from '../../base/errors.ts'
import {
  atQuery,
  type EvaluationBody,
  LegacyBatchEvaluation,
  LegacyEvaluation,
  legacyBatchBody,
  legacyBody,
  MOST_REQUESTS,
  reasonNames,
} from '../../contract/evaluation.ts'
import type { Raw } from '../../contract/readers/value.ts'
import { type Work, workTogether } from '../../evaluation/segment.ts'
import { inPath, NAMESPACE } from '../commands/resource-routes.ts'
import { type Evaluator, type Flags, since } from '../evaluation/evaluator.ts'
import {
  insistOnClient,
  mostBytesFor,
  namespaceIn,
  namespaceOrDefault,
  requestsIn,
  showsSegments,
  withFlags,
} from '../evaluation/request.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { EvaluationService } from '../services/flags.ts'
import type { Caller } from '../wire/caller.ts'

import { allOf } from '../wire/pieces.ts'
import { jsonOf, ok } from '../wire/reply.ts'

type One = EvaluationBody

/** Namespaces in a body: the outer one, and those of its single requests (api.md §3.3). */
const namespacesAsked = (body: Raw): readonly string[] => [
  namespaceOrDefault(namespaceIn(body)),
  ...requestsIn(body).flatMap((one) => namespaceIn(one) || []),
]

/** Evaluates a flag. Returns the answer in the legacy form, without the request id. */
const said = (
  evaluator: Evaluator,
  flags: Flags,
  caller: Caller,
  namespaceKey: string,
  { flagKey, entityId, context }: One,
  work?: Work,
): Omit<LegacyEvaluation, 'requestId'> => {
  const flag = evaluator.find(flags, namespaceKey, flagKey)
  const asking = { entityId, context, ...(work && { work }) }
  const { answer, millis, timestamp } = evaluator.variant(flag, namespaceKey, asking)
  const { match, reason, variantKey, variantAttachment } = answer
  const segmentKeys = showsSegments(caller, namespaceKey) ? answer.segmentKeys : []
  return {
    entityId,
    requestContext: context,
    match,
    flagKey,
    segmentKey: segmentKeys[0] ?? '',
    timestamp,
    value: variantKey,
    requestDurationMillis: millis,
    attachment: variantAttachment,
    reason: reasonNames[reason],
    namespaceKey,
    segmentKeys,
  }
}

const shared = {
  method: 'POST',
  ...ordinary,
  writes: false,
  tag: 'Evaluation',
  query: atQuery,
  errors: ['not_found', 'wrong_flag_type', 'invalid_at'],
} as const

const places = [
  {
    root: '/api/v1',
    access: { credential: 'management', namespace: { body: namespacesAsked }, right: 'flag.evaluate' },
  },
  { root: NAMESPACE, access: inPath('flag.evaluate') },
] as const
type ValuePlace = (typeof places)[number]

const namespaceOf = (params: Readonly<Record<string, string>>, given: string) =>
  params['namespaceKey'] ?? namespaceOrDefault(given)

const evaluateOne = (
  app: FastifyInstance,
  service: EvaluationService,
  evaluator: Evaluator,
  { root, access }: ValuePlace,
): void =>
  route(app, {
    ...shared,
    access,
    url: `${root}/evaluate`,
    summary: 'Evaluate a variant flag, in the older form of the API.',
    body: legacyBody,
    answer: LegacyEvaluation,
    run: (call) => {
      const { body, params } = call
      const namespace = namespaceOf(params, body.namespaceKey)
      const wanted = () => [[namespace, body.flagKey]] as const
      return withFlags(service, call, wanted, (flags) =>
        ok({ requestId: body.requestId || randomUUID(), ...said(evaluator, flags, call.caller, namespace, body) }),
      )
    },
  })

const evaluateMany = (
  app: FastifyInstance,
  service: EvaluationService,
  evaluator: Evaluator,
  { root, access }: ValuePlace,
): void =>
  route(app, {
    ...shared,
    access,
    url: `${root}/batch-evaluate`,
    summary: `Evaluate up to ${MOST_REQUESTS} variant flags of one namespace, in the older form of the API.`,
    errors: [...shared.errors, 'answer_too_large'],
    body: legacyBatchBody,
    answer: LegacyBatchEvaluation,
    run: (call) => {
      const { body, params } = call
      const { monotonic } = service.clock
      const namespace = namespaceOf(params, body.namespaceKey)
      const other = ({ namespaceKey }: One) => namespaceKey !== '' && namespaceKey !== namespace
      if (body.requests.some(other)) invalid('namespace_key', 'must be the same for all requests if specified')
      const wanted = () => body.requests.map(({ flagKey }) => [namespace, flagKey] as const)
      return withFlags(service, call, wanted, (flags) => {
        const start = monotonic()
        const found = body.excludeNotFound
          ? body.requests.filter(({ flagKey }) => evaluator.look(flags, namespace, flagKey))
          : body.requests
        const work = workTogether()
        const make = (one: One) => {
          insistOnClient(call.request)
          const evaluation = said(evaluator, flags, call.caller, namespace, one, work)
          return () => jsonOf({ requestId: one.requestId, ...evaluation, requestDurationMillis: 0 })
        }
        const requestId = body.requestId || randomUUID()
        const around = () => ({ before: { requestId }, after: { requestDurationMillis: since(monotonic, start) } })
        return allOf(call, found, mostBytesFor(service, call.caller), make, 'responses', around)
      })
    },
  })

/**
 * POST evaluate and batch-evaluate of variant flags (legacy form), under /api/v1 and under a namespace (api.md §8.7).
 */
export const evaluateLegacyRoutes = (app: FastifyInstance, service: EvaluationService, evaluator: Evaluator): void => {
  for (const place of places) {
    evaluateOne(app, service, evaluator, place)
    evaluateMany(app, service, evaluator, place)
  }
}
