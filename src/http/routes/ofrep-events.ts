import type { FastifyInstance } from 'fastify'
import { refuse } from '../../base/errors.ts'
import { OfrepEvents, ofrepEvents } from '../../contract/ofrep.ts'
import { namespaceOfStream } from '../auth/stream-ticket.ts'
import { ofrepError } from '../evaluation/ofrep.ts'
import { type Call, route } from '../route/route.ts'
import type { EvaluationService } from '../services/flags.ts'
import { holderOfRequest } from '../steps/as-of-readings.ts'
import { headerText } from '../steps/preconditions.ts'
import { EVENTS } from '../streams/announced.ts'
import { audienceOf } from '../streams/audience.ts'
import { flagStateOf, hasPresentState } from '../streams/flag-state.ts'
import type { Content, Frame } from '../streams/topics.ts'
import { type Answer, streamHeaders } from '../wire/reply.ts'

const RETRY_MS = 2_000
const ALIVE = Buffer.from(': keep-alive\n\n')

/** Content of the event streams of a namespace: one event about its present state. */
const eventsOf = ({ flagStore, log }: EvaluationService, namespace: string): Content => {
  let made: Frame | undefined
  const frame = async (): Promise<Frame> => {
    const { tag, position } = flagStateOf(flagStore, namespace)
    if (made?.name === tag) return made
    const event = position === 0n ? undefined : await log.at(position).catch(() => undefined)
    const data: OfrepEvents = {
      type: 'refetchEvaluation',
      etag: tag,
      ...(event && { lastModified: Math.floor(Date.parse(event.time) / 1000) }),
    }
    const text = `retry: ${RETRY_MS}\nid: ${position}\nevent: message\ndata: ${JSON.stringify(data)}\n\n`
    const now = { name: tag, chunks: [Buffer.from(text)] }
    // Without a time the event is built again for the next stream.
    if (event) made = now
    return now
  }
  return { key: 'events', namespace, kind: 'events', frame, alive: ALIVE }
}

/** GET /ofrep/v1/events (api.md §10). */
export const ofrepEventsRoutes = (app: FastifyInstance, service: EvaluationService): void => {
  const { flagStreams, fresh } = service
  const listen = audienceOf(service)
  const open = async (call: Call<unknown, unknown>, namespace: string): Promise<Answer<OfrepEvents>> => {
    const { request, caller } = call
    const headers = streamHeaders('text/event-stream')
    if (request.method === 'HEAD') return { body: undefined, headers, chunks: [] }
    if (!fresh()) refuse('auth_stale')
    const isCurrent = await hasPresentState(service, namespace, headerText(request.headers, 'last-event-id') ?? '')
    const lease = flagStreams.enter(caller, request.address, await holderOfRequest(service.pastReadings, request))
    const audience = listen(request, namespace)
    const push: Answer['push'] = (response) =>
      flagStreams.open(response, lease, eventsOf(service, namespace), audience, isCurrent)
    return { body: undefined, headers, push }
  }
  route(app, {
    method: 'GET',
    url: EVENTS,
    cache: 'no-store',
    bodyLimit: 'configured',
    access: {
      credential: 'ofrep',
      namespace: { stream: namespaceOfStream },
      right: 'flag.evaluate',
      ticket: true,
    },
    tag: 'OpenFeature',
    errorBody: ofrepError,
    summary: 'Receive an event when the flags or segments of a namespace change, as server-sent events.',
    query: ofrepEvents,
    answer: OfrepEvents,
    errors: ['rate_limited', 'auth_stale'],
    run: (call) => open(call, call.query.namespace || 'default'),
  })
}
