import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Trace } from '../../evaluation/trace.ts'
import { type Answer, written } from '../wire/reply.ts'
import {
  evaluationBody,
  namespaceOrDefault,
  explainQuery,
  namespaceAsked,
  requestIdJson,
  withFlags,
} from '../evaluation/request.ts'
import { textClock } from '../wire/clock.ts'
import { rolloutTypes } from '../../contract/enums.ts'
import { type Evaluator, type Flags, shownTrace } from '../evaluation/evaluator.ts'
import { type Call, route } from '../route.ts'
import { ordinary } from '../statements.ts'
import type { Service } from '../service.ts'
import { reasonNames } from '../evaluation/answer-cache.ts'

const Text = Type.String()
const Texts = Type.Array(Text)
const shared = {
  reason: Type.Enum(Object.values(reasonNames)),
  segmentKeys: Texts,
  flagKey: Text,
  requestId: Text,
  requestDurationMillis: Type.Number(),
  timestamp: Type.String({ format: 'date-time' }),
}
const trace = Type.Optional(
  Type.Array(
    Type.Object({
      kind: Type.Enum(['rollout', 'rule']),
      id: Text,
      rank: Type.Integer(),
      matched: Type.Boolean(),
      segmentKeys: Texts,
      failedConstraintIds: Texts,
      type: Type.Optional(Type.Enum(rolloutTypes.names)),
      bucket: Type.Optional(Type.Integer()),
      threshold: Type.Optional(Type.Number()),
      cumulative: Type.Optional(Type.Array(Type.Integer())),
      variantKey: Type.Optional(Text),
    }),
  ),
)

/** Answers of single evaluations (api.md §8.1). */
export const BooleanSaid = Type.Object({ enabled: Type.Boolean(), ...shared })
export const VariantSaid = Type.Object({ match: Type.Boolean(), variantKey: Text, variantAttachment: Text, ...shared })

type Asked = Call<ReturnType<typeof evaluationBody.read>, ReturnType<typeof explainQuery.read>>

/** POST /evaluate/v1/boolean and /evaluate/v1/variant (api.md §8.1 to §8.6). */
export const evaluateRoutes = (app: FastifyInstance, service: Service, evaluator: Evaluator): void => {
  const timestamp = textClock(service.now)

  const answer = (kind: 'boolean' | 'variant', { body, query, request }: Asked, flags: Flags): Answer => {
    const { entityId, context } = body
    const namespace = namespaceOrDefault(body.namespaceKey)
    const trace: Trace | undefined = query.explain ? [] : undefined
    const flag = evaluator.find(flags, namespace, body.flagKey)
    const { json, millis } = evaluator[kind](flag, namespace, { entityId, context, trace })
    const id = requestIdJson(body.requestId, request)
    const steps = trace ? `,"trace":${JSON.stringify(trace.map(shownTrace))}` : ''
    return written(`{${json},"requestId":${id},"requestDurationMillis":${millis},"timestamp":"${timestamp()}"${steps}}`)
  }

  for (const [kind, said] of [
    ['boolean', BooleanSaid],
    ['variant', VariantSaid],
  ] as const) {
    route(app, {
      method: 'POST',
      url: `/evaluate/v1/${kind}`,
      ...ordinary,
      access: { credential: 'evaluation', namespace: { body: namespaceAsked } },
      writes: false,
      tag: 'Evaluation',
      summary: `Ask a ${kind} flag about an entity.`,
      hot: true,
      body: evaluationBody,
      query: explainQuery,
      errors: ['not_found', 'wrong_flag_type', 'invalid_at', 'view_behind'],
      answer: Type.Object({ ...said.properties, trace }),
      run: (call) => {
        const { query, body } = call
        if (query.at === undefined) return answer(kind, call, service.flagStore)
        const wanted = () => [[namespaceOrDefault(body.namespaceKey), body.flagKey]] as const
        return withFlags(service, query.at, wanted, (flags) => answer(kind, call, flags))
      },
    })
  }
}
