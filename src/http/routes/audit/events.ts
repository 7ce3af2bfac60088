import { invalid } from '../../../base/errors.ts'
import { type EventsFormat, HistoryEvent, HistoryEvents, personal } from '../../../contract/history/events.ts'
import { query as queryOf } from '../../../contract/readers/input.ts'
import {
  cloudEventPageAnswer,
  countReading,
  eventAt,
  eventPageAnswer,
  eventPresenter,
  formatOf,
  namespaceIn,
  opensPersonal,
  query,
  recordedOpening,
} from '../../history/event-page.ts'
import { eventStreamAnswer } from '../../history/event-stream.ts'
import { liveEvents } from '../../history/live-events.ts'
import { allRoutes, route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { HistoryMount } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'
import { written } from '../../wire/reply.ts'

const PAGES = { json: eventPageAnswer, cloudevents: cloudEventPageAnswer }

/** Forms without opened personal data. */
const SEALED: ReadonlySet<EventsFormat> = new Set(['csv', 'cloudevents'])

const getEvents: HistoryMount = (app, service) => {
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
      alwaysFor: opensPersonal,
    },
    summary:
      'List or export the events of the history that match all filters; as JSON, CloudEvents, NDJSON, CSV, OCSF or live as server-sent events.',
    query,
    errors: ['invalid_at', 'invalid_page_token', 'view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: HistoryEvents,
    run: (call) => {
      const format = formatOf(call)
      if (call.query.personal === 'open' && SEALED.has(format)) invalid('personal', `must be sealed in ${format}`)
      if (format === 'json' || format === 'cloudevents')
        return asOfReading(service, call.request, () => PAGES[format](service, call))
      return format === 'sse' ? follow(call) : eventStreamAnswer(service, call, format)
    },
  })
}

const getEvent: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/events/:position',
    ...audit,
    access: { credential: 'required', namespace: 'none', right: 'audit.read', alwaysFor: opensPersonal },
    summary: 'Get the event at a position.',
    query: queryOf({ personal }),
    errors: ['not_found', 'view_behind'],
    answer: HistoryEvent,
    run: async (call) => {
      const position = call.params['position']!
      const event = await eventAt(service, position)
      const [fromIndex, toIndex] = [event.index, event.index + 1]
      const open = await recordedOpening(service, call, { format: 'json', filter: { position }, fromIndex, toIndex })
      if (!open) countReading(service, call, 1)
      return written(await eventPresenter(service, open)(event))
    },
  })

/** Routes of the history of events (api.md §16). */
export const auditEventsRoutes = allRoutes(getEvents, getEvent)
