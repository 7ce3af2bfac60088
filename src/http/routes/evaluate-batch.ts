import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Answer } from '../wire/reply.ts'
import {
  evaluationBody,
  atQuery,
  namespaceOrDefault,
  MOST_REQUESTS,
  namespaceIn,
  requestIdJson,
  requestsIn,
  unstoredText,
  withFlags,
} from '../evaluation/request.ts'
import { since, textClock } from '../wire/clock.ts'
import type { Evaluator, Flags } from '../evaluation/evaluator.ts'
import { list, object } from '../../contract/fields.ts'
import { input } from '../../contract/input.ts'
import type { Raw } from '../../contract/value.ts'
import { allOf } from '../wire/pieces.ts'
import { type Call, route } from '../route.ts'
import { ordinary } from '../statements.ts'
import type { Service } from '../service.ts'
import { BooleanSaid, VariantSaid } from './evaluate.ts'

const batch = input({ requestId: unstoredText, requests: list(object(evaluationBody), { max: MOST_REQUESTS }) })
type Batch = Call<ReturnType<typeof batch.read>, ReturnType<typeof atQuery.read>>
type One = Batch['body']['requests'][number]

const Text = Type.String()
const ErrorSaid = Type.Object({ flagKey: Text, namespaceKey: Text, reason: Text })
const typeNames = { variant: 'VARIANT_EVALUATION_RESPONSE_TYPE', boolean: 'BOOLEAN_EVALUATION_RESPONSE_TYPE' } as const

const namespacesAsked = (body: Raw) => requestsIn(body).map((one) => namespaceOrDefault(namespaceIn(one)))

/** POST /evaluate/v1/batch (api.md §8.1): answers in the order asked; a missing flag is an entry, any other error fails all. */
export const evaluateBatchRoutes = (app: FastifyInstance, service: Service, evaluator: Evaluator): void => {
  const timestamp = textClock(service.now)

  const entry = (flags: Flags, { requestId, namespaceKey, flagKey, entityId, context }: One): string => {
    const namespace = namespaceOrDefault(namespaceKey)
    const flag = evaluator.look(flags, namespace, flagKey)
    if (!flag) {
      const errorResponse = { flagKey, namespaceKey: namespace, reason: 'NOT_FOUND_ERROR_EVALUATION_REASON' }
      return JSON.stringify({ type: 'ERROR_EVALUATION_RESPONSE_TYPE', errorResponse })
    }
    const { json, millis } = evaluator[flag.type](flag, namespace, { entityId, context })
    const id = JSON.stringify(requestId)
    const said = `{${json},"requestId":${id},"requestDurationMillis":${millis},"timestamp":"${timestamp()}"}`
    return `{"type":"${typeNames[flag.type]}","${flag.type}Response":${said}}`
  }

  const answer = ({ body, request }: Batch, flags: Flags): Answer | Promise<Answer> => {
    const start = performance.now()
    const around = () =>
      [
        `{"requestId":${requestIdJson(body.requestId, request)},"responses":[`,
        `],"requestDurationMillis":${since(start)}}`,
      ] as const
    return allOf(body.requests, service.settings.mostBytes, (one) => entry(flags, one), around)
  }

  route(app, {
    method: 'POST',
    url: '/evaluate/v1/batch',
    ...ordinary,
    access: { credential: 'evaluation', namespace: { body: namespacesAsked } },
    writes: false,
    tag: 'Evaluation',
    summary: `Ask up to ${MOST_REQUESTS} flags, each by its own type.`,
    hot: true,
    body: batch,
    query: atQuery,
    errors: ['answer_too_large', 'invalid_at', 'view_behind'],
    answer: Type.Object({
      requestId: Text,
      responses: Type.Array(
        Type.Object({
          type: Type.Enum([...Object.values(typeNames), 'ERROR_EVALUATION_RESPONSE_TYPE']),
          booleanResponse: Type.Optional(BooleanSaid),
          variantResponse: Type.Optional(VariantSaid),
          errorResponse: Type.Optional(ErrorSaid),
        }),
      ),
      requestDurationMillis: Type.Number(),
    }),
    run: (call) => {
      const wanted = () =>
        call.body.requests.map(({ namespaceKey, flagKey }) => [namespaceOrDefault(namespaceKey), flagKey] as const)
      return withFlags(service, call.query.at, wanted, (flags) => answer(call, flags))
    },
  })
}
