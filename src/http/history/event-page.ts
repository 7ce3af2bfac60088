import type { HistoryEvent, HistoryEvents } from '../../contract/history/events.ts'
import type { IndexedEvent } from '../../history/facts.ts'
import { eventJson } from '../../history/forms.ts'
import type { Head } from '../../history/spans.ts'
import { actorNames } from '../present/last-change.ts'
import type { Service } from '../services/service.ts'
import { listed } from '../wire/pieces.ts'
import type { Answer, Json } from '../wire/reply.ts'
import { hasRoomFor, takePage } from '../wire/room.ts'
import { countReading } from './counted.ts'
import { type EventsCall, selectionOf } from './query.ts'

const PAGE = 100
const PAGE_MAX = 1000

const placeShown = ({ index, position }: Head) => ({ index, position: String(position) })

/** JSON text of an event, with the name of the static token that acted. */
export const eventPresenter = (service: Service) => {
  const nameOf = actorNames(service)
  return async (event: IndexedEvent): Promise<Json<HistoryEvent>> =>
    eventJson(event, await nameOf(event.facts.actor)) as Json<HistoryEvent>
}

/** One page of events as JSON (api.md §16.4). */
export const eventPageAnswer = async (service: Service, call: EventsCall): Promise<Answer<HistoryEvents>> => {
  await takePage(call)
  const { history, pageTokens, settings } = service
  const { query: asked, request } = call
  const { filter, range } = selectionOf(call)
  const bounds = Object.values(range).map((bound) => (bound === undefined ? '' : String(bound)))
  const scope = ['events', filter, asked.order, ...bounds]
  const cursor = asked.pageToken === '' ? undefined : (pageTokens.read(scope, asked.pageToken) as number)
  const head = await history.head()
  if (!head) return { body: { events: [], nextPageToken: '' } }
  const limit = asked.limit === 0 ? PAGE : Math.min(asked.limit, PAGE_MAX)
  const show = eventPresenter(service)
  const pieces: Json<HistoryEvent>[] = []
  let bytes = 0
  const take = async (event: IndexedEvent): Promise<boolean> => {
    const piece = await show(event)
    const size = Buffer.byteLength(piece) + 1
    if (pieces.length > 0 && (bytes + size > settings.mostBytes || !hasRoomFor(request, bytes + size))) return false
    pieces.push(piece)
    bytes += size
    return true
  }
  const page = { filter, range, descending: asked.order === 'desc', limit, cursor }
  const { through, next } = await history.page(page, head, take, request.stop)
  const count = asked.count ? await history.count(range, filter, head, request.stop) : undefined
  countReading(service, call, pieces.length)
  return listed(
    ['events'],
    { pieces, bytes },
    {
      nextPageToken: next === undefined ? '' : pageTokens.write(scope, next),
      ...(through && { through: placeShown(through) }),
      head: placeShown(head),
      ...(count && { count }),
    },
  )
}
