import { HistoryEvent, HistoryEvents } from '../../../contract/history/events.ts'
import { asOfReading } from '../../as-of-readings.ts'
import { countReading } from '../../history/counted.ts'
import { cloudEventPageAnswer, eventAt, eventPageAnswer, eventPresenter } from '../../history/event-page.ts'
import { eventStreamAnswer } from '../../history/event-stream.ts'
import { liveEvents } from '../../history/live-events.ts'
import { formatOf, namespaceIn, query } from '../../history/query.ts'
import { route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { Mount } from '../../services/service.ts'
import { written } from '../../wire/reply.ts'

const PAGES = { json: eventPageAnswer, cloudevents: cloudEventPageAnswer }

const getEvents: Mount = (app, service) => {
  const follow = liveEvents(service)
  route(app, {
    method: 'GET',
    url: '/audit/v1/events',
    ...audit,
    access: {
      credential: 'required',
      namespace: 'none',
      right: 'audit.read',
      inOne: { right: 'history.read', namespaceIn },
    },
    summary:
      'List or export the events of the history that match all filters; as JSON, CloudEvents, NDJSON, CSV or live as server-sent events.',
    query,
    errors: ['invalid_at', 'invalid_page_token', 'view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: HistoryEvents,
    run: (call) => {
      const format = formatOf(call)
      if (format === 'json' || format === 'cloudevents')
        return asOfReading(service, call.request, () => PAGES[format](service, call))
      return format === 'sse' ? follow(call) : eventStreamAnswer(service, call, format)
    },
  })
}

const getEvent: Mount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/events/:position',
    ...audit,
    access: { credential: 'required', namespace: 'none', right: 'audit.read' },
    summary: 'Get the event at a position.',
    errors: ['not_found', 'view_behind'],
    answer: HistoryEvent,
    run: async (call) => {
      const event = await eventAt(service, call.params['position']!)
      countReading(service, call, 1)
      return written(await eventPresenter(service)(event))
    },
  })

/** Routes of the history of events (api.md §16). */
export const auditEventsRoutes: Mount = (app, service) => {
  getEvents(app, service)
  getEvent(app, service)
}
