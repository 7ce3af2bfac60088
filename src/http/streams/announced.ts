import { openGroups } from '../../access/openness.ts'
import type { OfrepBulk } from '../../contract/ofrep.ts'
import type { Call } from '../route/route.ts'
import type { EvaluationService } from '../services/flags.ts'

/** Time in seconds after which the client of a hidden page may close its stream. */
const INACTIVITY_SEC = 120

/** Path of the event streams. */
export const EVENTS = '/ofrep/v1/events'

/**
 * Event streams that a bulk answer announces (api.md §10). Where the route needs a credential, the address has a ticket,
 * which changes each day.
 */
export const announcedStreams = ({ settings, tickets, cookies }: EvaluationService) => {
  const needsTicket = !openGroups(settings).ofrep
  return {
    streamsOf: (
      { caller, request }: Pick<Call<unknown, unknown>, 'caller' | 'request'>,
      namespace: string,
    ): Pick<OfrepBulk, 'eventStreams'> => {
      if (!settings.eventStreams) return {}
      const { id } = caller.actor
      const query = new URLSearchParams({ namespace })
      if (needsTicket && id !== undefined) query.set('ticket', tickets.write(id, namespace))
      const requestUri = `${cookies.basePath(request)}${EVENTS}?${query.toString()}`
      return { eventStreams: [{ type: 'sse', endpoint: { requestUri }, inactivityDelaySec: INACTIVITY_SEC }] }
    },
    /** Part of the tag of a bulk answer, so that a client that has the tag also has a ticket of the day. */
    edition: (): string => (settings.eventStreams ? `${needsTicket ? tickets.today() : 'open'}|` : ''),
  }
}
