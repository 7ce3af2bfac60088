import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import lt from 'semver/functions/lt.js'
import valid from 'semver/functions/valid.js'
import { refuse } from '../../base/errors.ts'
import { Snapshot, SnapshotLine } from '../../contract/flags/snapshot.ts'
import type { LastEvaluations } from '../evaluation/last-evaluations.ts'
import { leavingOut } from '../lists/paging.ts'
import { keptChunks } from '../memory/kept-chunks.ts'
import { SMALL, takerOf } from '../memory/room.ts'
import { type Form, snapshotText, unevaluable } from '../present/snapshot.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { EvaluationService } from '../services/flags.ts'
import { holderOfRequest } from '../steps/as-of-readings.ts'
import { audienceOf } from '../streams/audience.ts'
import { withoutLimit } from '../streams/flag-streams.ts'
import type { Content } from '../streams/topics.ts'
import { underAnyWord } from '../wire/family-headers.ts'
import { chunksOf } from '../wire/pieces.ts'
import { type Answer, type Json, jsonOf, streamHeaders, written } from '../wire/reply.ts'
import { held } from '../wire/send.ts'

const UNSTATED = '1.37.1'
/**
 * Form of the snapshot by client version. A changed form needs a new tag; otherwise a client with the former form would
 * receive 304.
 */
const forms = [
  { below: '1.38.0', form: { tag: 'd', entityId: false, defaultVariant: false } },
  { below: '1.47.0', form: { tag: 'e', entityId: true, defaultVariant: false } },
] as const
const newest: Form = { tag: 'f', entityId: true, defaultVariant: true }

/**
 * Form for the server version in the request, from the deployment's own header or from one under another word of the
 * family.
 */
const formFor = (headers: IncomingHttpHeaders, own: string): Form => {
  const given = headers[own] ?? underAnyWord(headers, 'accept-server-version')[0]?.[1]
  const version = (typeof given === 'string' ? valid(given) : null) ?? UNSTATED
  return forms.find(({ below }) => lt(version, below))?.form ?? newest
}

/** Maximum total bytes of snapshots in memory. */
const MOST_KEPT = 67_108_864

type KeptChunks = ReturnType<typeof keptChunks>

/** Content of the streams of a namespace in one form: a line of JSON for each state. */
const linesOf = ({ flagStore }: EvaluationService, kept: KeptChunks, namespace: string, form: Form): Content => ({
  key: `snapshots ${form.tag}`,
  namespace,
  kind: 'snapshots',
  frame: async () => {
    const name = `${flagStore.version(namespace)?.toString(36) ?? ''}${form.tag}`
    const chunks = await kept(`${form.tag}${namespace}`, name, () => chunksOf(snapshotText(flagStore, namespace, form)))
    const line = chunks && [Buffer.from('{"result":'), ...chunks, Buffer.from('}\n')]
    return line && { name, chunks: chunks.length === 1 ? [Buffer.concat(line)] : line }
  },
})

/** The snapshots of a namespace as lines of JSON, one for each state (api.md §9.1). */
const streamRoute = (
  app: FastifyInstance,
  service: EvaluationService,
  { fetched }: Pick<LastEvaluations, 'fetched'>,
  kept: KeptChunks,
): void => {
  const { flagStore, flagStreams, fresh, names, pastReadings } = service
  const listen = audienceOf(service)
  route(app, {
    method: 'GET',
    url: '/client/v2/environments/:environment/namespaces/:namespace/stream',
    ...ordinary,
    access: { credential: 'evaluation', namespace: { param: 'namespace' }, right: 'flag.snapshot' },
    tag: 'Evaluation',
    summary: 'Get all flags of a namespace after each change, for clients that evaluate flags themselves.',
    errors: ['not_found', 'rate_limited', 'auth_stale'],
    answer: SnapshotLine,
    run: async ({ params, request, caller }) => {
      const { environment, namespace = '' } = params
      if (environment !== 'default') refuse('not_found', `environment "${environment}" not found`)
      if (!fresh()) refuse('auth_stale')
      const headers = streamHeaders('application/x-ndjson')
      const answer = (given: Answer<SnapshotLine>) => leavingOut({ names }, unevaluable(flagStore, namespace), given)
      if (request.method === 'HEAD') return answer({ body: undefined, headers, chunks: [] })
      const content = linesOf(service, kept, namespace, formFor(request.headers, names.acceptVersionHeader))
      const holder = await holderOfRequest(pastReadings, request)
      const { key, isAllowed } = listen(request, namespace)
      // Each check of an open stream counts as a fetch, because its engine has the present snapshot.
      const check = () => {
        fetched(namespace)
        return isAllowed()
      }
      const audience = { key: `snapshots ${key}`, isAllowed: check }
      const lease = flagStreams.enter(caller, request.address, holder)
      const { answers } = request.server.budgets
      const room = (bytes: number) => (bytes <= SMALL ? withoutLimit() : answers.takeNow(takerOf(request), bytes))
      fetched(namespace)
      return answer({
        body: undefined,
        headers,
        push: (response) => flagStreams.open(response, { ...lease, room }, content, audience, false),
      })
    },
  })
}

/**
 * GET /internal/v1/evaluation/snapshot/namespace/{key} (api.md §9). The text of each form is made once per version of
 * the namespace; if it is too large to cache, once per request.
 */
export const snapshotRoutes = (app: FastifyInstance, service: EvaluationService, last: LastEvaluations): void => {
  const { flagStore, names } = service
  const { fetched } = last
  const kept = keptChunks(MOST_KEPT)
  streamRoute(app, service, last, kept)

  route(app, {
    method: 'GET',
    url: '/internal/v1/evaluation/snapshot/namespace/:key',
    ...ordinary,
    access: { credential: 'evaluation', namespace: { param: 'key' }, right: 'flag.snapshot' },
    tag: 'Evaluation',
    summary: 'Get all flags of a namespace, for clients that evaluate flags themselves.',
    errors: ['view_behind'],
    answer: Snapshot,
    run: async ({ params, request }) => {
      const key = params['key']!
      const version = flagStore.version(key)
      if (version === undefined) return written(jsonOf({ namespace: { key }, flags: [] }))
      fetched(key)
      const form = formFor(request.headers, names.acceptVersionHeader)
      const etag = `${version.toString(36)}${form.tag}`
      const answer = (given: Answer<Snapshot>) => leavingOut({ names }, unevaluable(flagStore, key), given)
      if (held(request, etag)) return answer({ body: undefined, etag })
      const make = () => chunksOf(snapshotText(flagStore, key, form))
      const chunks = await kept(`${form.tag}${key}`, etag, make)
      if (chunks?.length === 1) return answer(written(chunks[0]!.toString() as Json<Snapshot>, etag))
      return answer({
        body: undefined,
        etag,
        chunks: chunks ?? make(),
        ...(chunks && { length: chunks.reduce((sum, { length }) => sum + length, 0) }),
      })
    },
  })
}
