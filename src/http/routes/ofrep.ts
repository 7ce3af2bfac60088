import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { invalid } from '../../base/errors.ts'
import { yieldToEventLoop } from '../../base/event-loop.ts'
import { MOST_REQUESTS } from '../../contract/evaluation.ts'
import {
  OfrepBulk,
  OfrepConfiguration,
  OfrepEvaluation,
  ofrepBody,
  ofrepBulkBody,
  ofrepState,
} from '../../contract/ofrep.ts'
import type { Context } from '../../evaluation/flag.ts'
import { type Work, workOnOne } from '../../evaluation/segment.ts'
import { parseTextList } from '../../evaluation/values.ts'
import { namespaceHeader } from '../auth/reach.ts'
import type { Evaluator } from '../evaluation/evaluator.ts'
import type { LastEvaluations } from '../evaluation/last-evaluations.ts'
import { badContext, entryOf, flagNotFound, ofrepError, resolve } from '../evaluation/ofrep.ts'
import { insistOnClient, mostBytesFor, showsSegments } from '../evaluation/request.ts'
import { leavingOut } from '../lists/paging.ts'
import { unevaluable } from '../present/snapshot.ts'
import { type Call, route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { EvaluationService, EvaluationServices } from '../services/flags.ts'
import { announcedStreams } from '../streams/announced.ts'
import { flagConfigSeen } from '../streams/flag-state.ts'
import { allOf } from '../wire/pieces.ts'
import { type Answer, jsonOf, ok, written } from '../wire/reply.ts'
import { held } from '../wire/send.ts'

const body = ofrepBody(badContext)
const noNames = (): never => invalid('context.flags', 'must be text or a list of texts')
const bulkBody = ofrepBulkBody(badContext, noNames)

const configurationOf = (enabled: boolean) => ({
  name: 'rollcall',
  capabilities: {
    cacheInvalidation: {
      polling: { enabled: true, minPollingIntervalMs: 60_000 },
      eventStreams: { enabled, types: ['sse'] },
    },
    flagEvaluation: { supportedTypes: ['string', 'boolean'] },
  },
})

const LARGE = 65_536

/** Items of a JSON list of texts. The text of a list begins with a bracket, which no key of a flag contains. */
const itemsOf = (list: string): readonly string[] => parseTextList(list) ?? noNames()

/** Distinct keys in `context.flags`, given as list or as comma-separated text; undefined if it is empty. */
const keysIn = (named: string): readonly string[] | undefined => {
  if (named === '' || named === '[]') return undefined
  const names = named.startsWith('[') ? itemsOf(named) : named.split(',', MOST_REQUESTS + 1)
  if (names.length > MOST_REQUESTS) invalid('context.flags', `must name at most ${MOST_REQUESTS} flags`)
  return [...new Set(names.flatMap((name) => name.trim() || []))]
}

/** Namespace of the evaluated flags. `names`: answers contain the keys of the matched segments. */
type EvaluationTarget = { readonly namespace: string; readonly names: boolean }

/** All flags that have an answer, which excludes disabled variant flags. */
const answering = (flagStore: EvaluationServices['flagStore'], namespace: string) =>
  flagStore.evaluable(namespace).filter(({ doc }) => doc.type === 'boolean' || doc.enabled)

/** Records the evaluation of the flags of an unchanged bulk answer: the named ones, or all of the namespace. */
const noteUnchanged = (
  flagStore: EvaluationServices['flagStore'],
  last: LastEvaluations,
  namespace: string,
  named: readonly string[] | undefined,
): void => {
  if (named) last.unchanged(namespace, named)
  else last.allUnchanged(namespace, () => answering(flagStore, namespace))
}

/**
 * ETag of a bulk answer: depends on the version of the namespace, the context and the visibility of segments, and on
 * `edition`, which changes with the address of the event stream.
 */
const tagOf = (
  flagStore: EvaluationServices['flagStore'],
  { namespace, names }: EvaluationTarget,
  context: Context,
  edition: string,
): string | undefined => {
  const version = flagStore.version(namespace)
  if (version === undefined) return undefined
  const asked = JSON.stringify(context, Object.keys(context).sort())
  return createHash('sha256')
    .update(`bulk|${names ? '' : 'unnamed|'}${edition}${namespace}|${version}|${asked}`)
    .digest('base64url')
    .slice(0, 22)
}

const access = { credential: 'ofrep', namespace: 'header', right: 'flag.evaluate' } as const
const shared = { ...ordinary, access, writes: false, tag: 'OpenFeature', errorBody: ofrepError } as const

const configurationRoute = (app: FastifyInstance, { settings }: EvaluationService): void => {
  const configuration = configurationOf(settings.eventStreams)
  route(app, {
    ...shared,
    method: 'GET',
    url: '/ofrep/v1/configuration',
    summary: 'Get the capabilities of this OFREP provider.',
    answer: OfrepConfiguration,
    run: () => ok(configuration),
  })
}

/** The OpenFeature remote evaluation protocol (api.md §10). */
export const ofrepRoutes = (
  app: FastifyInstance,
  service: EvaluationService,
  evaluator: Evaluator,
  last: LastEvaluations,
): void => {
  const { flagStore } = service
  const seenConfig = flagConfigSeen(service)
  const { streamsOf, edition } = announcedStreams(service)

  /** Namespace of a request, and whether its answers include segment names. */
  const askedOf = ({ caller, request }: Call<unknown, unknown>): EvaluationTarget => {
    const namespace = namespaceHeader(request, service)
    return { namespace, names: showsSegments(caller, namespace) }
  }

  const evaluateOne = (asked: EvaluationTarget, key: string, context: Context, work?: Work) => {
    const flag = evaluator.look(flagStore, asked.namespace, key) ?? flagNotFound(key)
    return resolve(evaluator, asked, flag, context, work)
  }

  configurationRoute(app, service)
  route(app, {
    ...shared,
    method: 'POST',
    url: '/ofrep/v1/evaluate/flags/:key',
    summary: 'Ask one flag.',
    hot: true,
    body,
    answer: OfrepEvaluation,
    errors: ['not_found', 'view_behind'],
    run: (call) => written(jsonOf(evaluateOne(askedOf(call), call.params['key']!, call.body.context))),
  })

  route(app, {
    ...shared,
    method: 'POST',
    url: '/ofrep/v1/evaluate/flags',
    summary: 'Evaluate all flags of a namespace, or the flags that are named in context.flags.',
    body: bulkBody,
    query: ofrepState,
    answer: OfrepBulk,
    errors: ['answer_too_large', 'view_behind'],
    run: (call) => {
      const { body, request } = call
      const { context } = body
      const asked = askedOf(call)
      const { namespace } = asked
      const answer = (): Answer<OfrepBulk> | Promise<Answer<OfrepBulk>> => {
        const named = keysIn(Object.hasOwn(context, 'flags') ? context['flags']! : '')
        const etag = tagOf(flagStore, asked, context, edition())
        const left = named ? 0 : unevaluable(flagStore, namespace)
        if (etag !== undefined && held(request, etag)) {
          noteUnchanged(flagStore, last, namespace, named)
          return leavingOut<OfrepBulk>(service, left, { body: undefined, etag })
        }
        const work = workOnOne()
        const make = (key: string) => {
          insistOnClient(request)
          const entry = entryOf(key, () => evaluateOne(asked, key, context, work))
          return () => jsonOf(entry)
        }
        const around = () => ({ before: {}, after: streamsOf(call, namespace) })
        const keys = named ?? answering(flagStore, namespace).map(({ doc }) => doc.key)
        const all = allOf(call, keys, mostBytesFor(service, call.caller), make, 'flags', around, etag)
        return all instanceof Promise
          ? all.then((answer) => leavingOut(service, left, answer))
          : leavingOut(service, left, all)
      }
      const wait = seenConfig(namespace, call.query)
      if (wait) return wait.then(answer)
      // Hashing a large context takes as long as parsing it, so other requests run first.
      return (request.bytes?.length ?? 0) > LARGE ? yieldToEventLoop().then(answer) : answer()
    },
  })
}
