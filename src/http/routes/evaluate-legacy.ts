import type { FastifyInstance } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { invalid } from '../../errors.ts'
import { ok } from '../wire/reply.ts'
import {
  evaluationBody,
  atQuery,
  context,
  namespaceOrDefault,
  entityId,
  MOST_REQUESTS,
  MOST_VALUE_BYTES,
  namespaceIn,
  requestsIn,
  unstoredText,
  withFlags,
} from '../evaluation/request.ts'
import { since, textClock } from '../wire/clock.ts'
import type { Evaluator, Flags } from '../evaluation/evaluator.ts'
import { flag, list, object, text } from '../../contract/fields.ts'
import { input } from '../../contract/input.ts'
import { inPath, NAMESPACE } from '../resource-routes.ts'
import { allOf } from '../wire/pieces.ts'
import { route } from '../route.ts'
import { ordinary } from '../statements.ts'
import type { Service } from '../service.ts'
import { reasonNames } from '../evaluation/answer-cache.ts'
import type { Raw } from '../../contract/value.ts'

const required = text({ required: true, stored: false })
const single = input({
  requestId: unstoredText,
  namespaceKey: unstoredText,
  flagKey: required,
  entityId: text({ required: true, stored: false, maxBytes: MOST_VALUE_BYTES }),
  context,
})
const nested = input({ requestId: unstoredText, namespaceKey: unstoredText, flagKey: required, entityId, context })
const batch = input({
  requestId: unstoredText,
  namespaceKey: unstoredText,
  requests: list(object(nested), { max: MOST_REQUESTS }),
  excludeNotFound: flag(),
})
type One = ReturnType<typeof evaluationBody.read>

const Text = Type.String()
const Texts = Type.Record(Text, Text)
const Said = Type.Object({
  requestId: Text,
  entityId: Text,
  requestContext: Texts,
  match: Type.Boolean(),
  flagKey: Text,
  segmentKey: Text,
  timestamp: Type.String({ format: 'date-time' }),
  value: Text,
  requestDurationMillis: Type.Number(),
  attachment: Text,
  reason: Type.Enum(Object.values(reasonNames)),
  namespaceKey: Text,
  segmentKeys: Type.Array(Text),
})

/** The namespaces of a body that names one outside and perhaps others inside (api.md §3.3). */
const namespacesAsked = (body: Raw): readonly string[] => [
  namespaceOrDefault(namespaceIn(body)),
  ...requestsIn(body).flatMap((one) => namespaceIn(one) || []),
]

/** POST evaluate and batch-evaluate under /api/v1 and under a namespace (api.md §8.7): variant flags in the older form. */
export const evaluateLegacyRoutes = (app: FastifyInstance, service: Service, evaluator: Evaluator): void => {
  const timestamp = textClock(service.now)

  const said = (flags: Flags, namespaceKey: string, { flagKey, entityId, context }: One) => {
    const flag = evaluator.find(flags, namespaceKey, flagKey)
    const { answer, millis } = evaluator.variant(flag, namespaceKey, { entityId, context })
    const { match, reason, segmentKeys, variantKey, variantAttachment } = answer
    return {
      entityId,
      requestContext: context,
      match,
      flagKey,
      segmentKey: segmentKeys[0] ?? '',
      timestamp: timestamp(),
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
    { root: '/api/v1', access: { credential: 'management', namespace: { body: namespacesAsked } } },
    { root: NAMESPACE, access: inPath },
  ] as const

  for (const { root, access } of places) {
    const namespaceOf = (params: Readonly<Record<string, string>>, given: string) =>
      params['namespaceKey'] ?? namespaceOrDefault(given)

    route(app, {
      ...shared,
      access,
      url: `${root}/evaluate`,
      summary: 'Ask a variant flag, in the older form.',
      body: single,
      answer: Said,
      run: ({ body, query, params }) => {
        const namespace = namespaceOf(params, body.namespaceKey)
        const wanted = () => [[namespace, body.flagKey]] as const
        return withFlags(service, query.at, wanted, (flags) =>
          ok({ requestId: body.requestId || randomUUID(), ...said(flags, namespace, body) }),
        )
      },
    })

    route(app, {
      ...shared,
      access,
      url: `${root}/batch-evaluate`,
      summary: `Ask up to ${MOST_REQUESTS} variant flags of one namespace, in the older form.`,
      errors: [...shared.errors, 'answer_too_large'],
      body: batch,
      answer: Type.Object({ requestId: Text, responses: Type.Array(Said), requestDurationMillis: Type.Number() }),
      run: ({ body, query, params }) => {
        const namespace = namespaceOf(params, body.namespaceKey)
        const other = ({ namespaceKey }: One) => namespaceKey !== '' && namespaceKey !== namespace
        if (body.requests.some(other)) invalid('namespace_key', 'must be the same for all requests if specified')
        const wanted = () => body.requests.map(({ flagKey }) => [namespace, flagKey] as const)
        return withFlags(service, query.at, wanted, (flags) => {
          const start = performance.now()
          const found = body.excludeNotFound
            ? body.requests.filter(({ flagKey }) => evaluator.look(flags, namespace, flagKey))
            : body.requests
          const text = (one: One) =>
            JSON.stringify({ requestId: one.requestId, ...said(flags, namespace, one), requestDurationMillis: 0 })
          const id = JSON.stringify(body.requestId || randomUUID())
          const around = () =>
            [`{"requestId":${id},"responses":[`, `],"requestDurationMillis":${since(start)}}`] as const
          return allOf(found, service.settings.mostBytes, text, around)
        })
      },
    })
  }
}
