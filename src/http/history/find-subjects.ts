import { refuse } from '../../base/errors.ts'
import type { SubjectFound } from '../../contract/history/searches.ts'
import { isLogin } from '../../events/login.ts'
import type { Method } from '../../events/token.ts'
import type { Head } from '../../history/ranges.ts'
import type { Where } from '../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Match } from '../../projections/views.ts'
import type { IndexedEvent } from '../../verifier/export/event-fields.ts'
import type { EventFilter } from '../../verifier/export/filter.ts'
import { waitForTokenView } from '../lists/wait-for-token-view.ts'
import type { SearchService } from '../services/history.ts'

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
export const findSubjects = async (
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
