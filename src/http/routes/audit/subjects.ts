import { invalid, refuse } from '../../../base/errors.ts'
import type { IssuedToken } from '../../../commands/erase-subject.ts'
import { erasureRequest, SubjectErased, type SubjectFound, SubjectsFound } from '../../../contract/history/searches.ts'
import { holder } from '../../../contract/token.ts'
import { isLogin } from '../../../events/login.ts'
import type { Method } from '../../../events/token.ts'
import type { Head } from '../../../history/ranges.ts'
import type { Where } from '../../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import type { Match } from '../../../projections/views.ts'
import type { IndexedEvent } from '../../../verifier/export/event-fields.ts'
import type { EventFilter } from '../../../verifier/export/filter.ts'
import { contextOf, eventPosition } from '../../commands/command-context.ts'
import { countReading } from '../../history/event-page.ts'
import { leavingOut } from '../../lists/paging.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { allRoutes, route } from '../../route/route.ts'
import { audit, searching } from '../../route/statements.ts'
import type { ErasureMount, ErasureService, SearchMount, SearchService } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'

/** Form of a subject. */
const SUBJECT = /^(?:person|token|network)-[\w.-]{1,100}$/
/** Time in ms after midnight during which a login may have begun on the day before. */
const BEGAN_BEFORE_MS = 600_000

/** True if the subject has a key or a tombstone, or is in an event. */
const isKnown = async ({ history, keyStates, erasures }: ErasureService, subject: string, stop: AbortSignal) => {
  if (!SUBJECT.test(subject)) return false
  if (erasures.of(subject) || (await keyStates([subject])).has(subject)) return true
  const head = await history.head()
  return (
    head !== undefined && (await history.count({}, { subject: { any: [subject], none: [] } }, head, stop)).value > 0
  )
}

/**
 * Subjects `network-<day>` with a key that may encrypt addresses of the logins of a person: those of the events before
 * the person was known.
 */
const networksOf = async ({ keyStates }: ErasureService, tokens: readonly IssuedToken[]) => {
  const days = new Set<string>()
  for (const { time } of tokens)
    for (const before of [BEGAN_BEFORE_MS, 0])
      days.add(`network-${new Date(Date.parse(time) - before).toISOString().slice(0, 10)}`)
  const states = await keyStates([...days])
  return [...days].filter((day) => states.get(day) === 'kept')
}

/**
 * Refuses the subject of a day that is not over, or whose logins may still come back. Its addresses would be
 * unreadable from now on, because an erased subject gets no new key.
 */
const insistOnPastDay = ({ clock }: ErasureService, subject: string): void => {
  const day = new Date(clock.now().getTime() - BEGAN_BEFORE_MS).toISOString().slice(0, 10)
  if (subject >= `network-${day}` && subject.startsWith('network-'))
    invalid('subject', 'must be a day that ended at least ten minutes ago (UTC)')
}

/** POST /audit/v1/subjects/erase: destroys the keys of a subject (api.md §16.18). */
const eraseSubject: ErasureMount = (app, service) =>
  route(app, {
    method: 'POST',
    url: '/audit/v1/subjects/erase',
    ...audit,
    access: { credential: 'always', namespace: 'none', right: 'subject.erase' },
    writes: 'always',
    summary: 'Erase the personal data of a subject: destroy the keys with which the history encrypts it.',
    body: erasureRequest,
    errors: ['not_found', 'view_behind'],
    answer: SubjectErased,
    run: async (call) => {
      const { subject, reason } = call.body
      // A disconnected client does not stop an erasure.
      const stop = new AbortController().signal
      insistOnPastDay(service, subject)
      if (!(await isKnown(service, subject, stop))) refuse('not_found', `subject "${subject}" not found`)
      // The command names its target by the subject, so If-Match is ignored.
      const { ifMatch: _ifMatch, ...context } = contextOf(call, service)
      const { keys, tokens } = await service.eraser.erase(subject, reason, context, stop)
      const networks = await networksOf(service, tokens)
      const { position } = service.erasures.row(subject) ?? refuse('backend_unavailable')
      const body = { subject, keys: [...keys], networks, position: String(position) }
      return { body, headers: eventPosition(position) }
    },
  })

/** Maximum number of subjects of one person, and of tokens that are counted. */
const SUBJECTS = 100
const COUNTED = 10_000

/** A person: the identifier at the providers of a method; with `provider`, at one of them. */
type Person = { readonly method: Method; readonly identity: string; readonly provider: string }

/** Returns the first or last event that passes a filter; undefined if no event passes. */
const outermost = async (
  { history }: SearchService,
  filter: EventFilter,
  head: Head,
  descending: boolean,
  stop: AbortSignal,
): Promise<IndexedEvent | undefined> => {
  const found: IndexedEvent[] = []
  const take = (event: IndexedEvent): boolean => found.push(event) > 0
  let cursor: number | undefined
  do {
    const page = { filter, bounds: {}, descending, limit: 1, cursor }
    cursor = (await history.page(page, head, take, stop)).next
  } while (found.length === 0 && cursor !== undefined)
  return found[0]
}

/** Status of a subject, by the profile of its newest token. */
const statusOf = async ({ views, sealer }: SearchService, where: Where): Promise<SubjectFound['status']> => {
  const newest = async (deletedAt: Match, order: string): Promise<TokenDoc | undefined> => {
    const query = { where: { ...where, deletedAt }, order, descending: true, limit: 1 }
    return (await views.list<TokenDoc>(tokens, query)).rows[0]?.doc
  }
  const doc = (await newest({ equals: [undefined] }, 'createdAt')) ?? (await newest({ from: '' }, 'deletedAt'))
  const opened = doc?.profile === undefined ? undefined : await sealer.open(doc.profile)
  if (opened === undefined || 'lost' in opened) return 'lost'
  return 'erased' in opened ? 'erased' : 'open'
}

/**
 * Finds the subjects of a person, in the order of their first events (api.md §16.11). The search stops when the signal
 * aborts.
 */
const findSubjects = async (
  service: SearchService,
  { method, identity, provider }: Person,
  stop: AbortSignal,
): Promise<readonly SubjectFound[]> => {
  const { views, history, logins } = service
  if (!isLogin(method)) return []
  await waitForTokenView(service)
  const head = await history.head()
  if (!head) return []
  const where: Where = {
    identity: { equals: [logins.pseudonyms.identity(method, identity)] },
    ...(provider !== '' && { provider: { equals: [provider] } }),
  }
  const found: SubjectFound[] = []
  for (const value of await views.values(tokens, where, 'subject', SUBJECTS)) {
    const subject = String(value)
    const own: Where = { ...where, subject: { equals: [subject] } }
    const filter: EventFilter = { subject: { any: [subject], none: [] } }
    const first = await outermost(service, filter, head, false, stop)
    const last = await outermost(service, filter, head, true, stop)
    if (!first || !last) return refuse('backend_unavailable')
    found.push({
      subject,
      status: await statusOf(service, own),
      tokens: (await views.list(tokens, { where: own, order: 'createdAt', limit: 1, count: COUNTED })).total,
      events: (await history.count({ afterIndex: first.index - 1 }, filter, head, stop)).value,
      first: first.record.time,
      last: last.record.time,
    })
  }
  return found.sort((one, other) => (one.first < other.first ? -1 : 1))
}

/** POST /audit/v1/subjects/find: the subjects of a person (api.md §16.11). */
const searchSubjects: SearchMount = (app, service) => {
  const { names, closed } = service
  route(app, {
    method: 'POST',
    url: '/audit/v1/subjects/find',
    ...searching,
    summary: 'Find the subjects of a person, with the state of their personal data and their tokens and events.',
    body: holder(names),
    errors: ['view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: SubjectsFound,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        const { identity, provider } = call.body
        const person = { method: names.methodNamed(call.body.method)!, identity, provider }
        const subjects = await findSubjects(service, person, call.request.stop)
        countReading(service, call, 0)
        return leavingOut(service, closed.count(tokens.category), { body: { subjects } })
      }),
  })
}

/** Routes of the subjects of personal data. */
export const auditSubjectsRoutes = allRoutes<SearchService & ErasureService>(searchSubjects, eraseSubject)
