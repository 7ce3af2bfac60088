import { EVERYWHERE } from '../../../access/grants.ts'
import { isOpenFor } from '../../../access/openness.ts'
import type { Right } from '../../../access/rights.ts'
import { type AsOf, type Moment, opennessAt } from '../../../as-of/as-of.ts'
import { csvOf, csvRows } from '../../../base/csv.ts'
import { forEachSliced } from '../../../base/event-loop.ts'
import { AccessReview, reviewQuery } from '../../../contract/access.ts'
import { momentText } from '../../../contract/readers/moment.ts'
import type { Compiled } from '../../../evaluation/compile.ts'
import { comparePlaces, placeOf, type TokenPlace } from '../../../projections/token-status.ts'
import type { Access, TokenDoc } from '../../../projections/tokens.ts'
import { type AccessDecision, accessDecisionOf } from '../../auth/access-decision.ts'
import { acceptedForm } from '../../history/event-page.ts'
import { leavingOut } from '../../lists/paging.ts'
import { hasRoomFor, takePage } from '../../memory/room.ts'
import { type Call, route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'
import { asOfReading, snapshotAt } from '../../steps/as-of-readings.ts'
import { type Answer, csvAnswer } from '../../wire/reply.ts'

/** Maximum number of tokens counted. */
const COUNTED = 10_000

/**
 * Query of an access review at a moment, and the start of its page. `total` is the count from an earlier page, if any.
 */
type Review = {
  readonly right: Right
  readonly place: string
  readonly time: Date
  readonly limit: number
  readonly after: TokenPlace | undefined
  readonly total: number | undefined
}
/** A token with the right, and the access decision. */
type Able = { readonly doc: TokenDoc; readonly verdict: AccessDecision }
/** One page of tokens in order, the total over all pages, and the number of unreadable records. */
type Found = { readonly able: readonly Able[]; readonly total: number; readonly left: number }
type Then = Pick<AsOf<Compiled>, 'tokens'>

const inOrder = comparePlaces(false)
const placeIn = (doc: TokenDoc) => placeOf(doc, 'createdAt')

const ableOf = ({ right, place, time }: Review, docs: readonly TokenDoc[]): readonly Able[] =>
  docs.flatMap((doc) => {
    const verdict = accessDecisionOf(doc, right, place, time)
    return verdict.allowed ? [{ doc, verdict }] : []
  })

/** Tokens of one kind of access; all tokens with full access qualify. */
const ofAccess = async (snapshot: Then, review: Review, access: Access): Promise<Found> => {
  const { right, place, time, limit, after } = review
  const { docs, total, left } = await snapshot.tokens({
    where: access === 'NAMESPACED' ? { namespace: { equals: [place] } } : {},
    access,
    status: 'ACTIVE',
    now: time.toISOString(),
    limit,
    count: COUNTED + 1,
    ...(access !== 'FULL' && { able: { right, place } }),
    ...(after && { after }),
  })
  return { able: ableOf(review, docs), total, left }
}

/** Active tokens with a right in a namespace at a moment, oldest first. */
const reviewed = async (snapshot: Then, review: Review): Promise<Found> => {
  const found = [await ofAccess(snapshot, review, 'FULL'), await ofAccess(snapshot, review, 'GRANTED')]
  if (review.place !== EVERYWHERE) found.push(await ofAccess(snapshot, review, 'NAMESPACED'))
  const able = found.flatMap((one) => one.able).sort((a, b) => inOrder(placeIn(a.doc), placeIn(b.doc)))
  const total = review.total ?? found.reduce((sum, one) => sum + one.total, 0)
  return { able: able.slice(0, review.limit), total, left: Math.max(...found.map(({ left }) => left)) }
}

const CSV = { 'content-type': 'text/csv; charset=utf-8' }
const PAGE = 100
const PAGE_MAX = 1000

type ReviewRequest = Call<unknown, ReturnType<(typeof reviewQuery)['read']>>
/** Cursor of a review: the last token, and the moment and count of its first page. */
type Cursor = { readonly after: TokenPlace; readonly total: number; readonly position: string; readonly time: string }
type Entry = AccessReview['entries'][number]

const entryOf =
  ({ names }: HistoryService) =>
  ({ doc, verdict: { reason, because } }: Able): Entry => {
    const name = doc.attributes['token.name']
    return {
      authenticationId: doc.id,
      method: names.method[doc.method],
      ...(name !== undefined && { name }),
      ...(doc.issuedBy !== undefined && { issuedBy: doc.issuedBy }),
      reason,
      ...(because && { because }),
    }
  }

const TABLE: readonly (readonly [string, (entry: Entry) => string])[] = [
  ['authenticationId', ({ authenticationId }) => authenticationId],
  ['method', ({ method }) => method],
  ['name', ({ name = '' }) => name],
  ['reason', ({ reason }) => reason],
  ['namespaceKey', ({ because }) => because?.namespaceKey ?? ''],
  ['role', ({ because }) => because?.role ?? ''],
  ['rule', ({ because }) => because?.rule ?? ''],
  ['issuedBy', ({ issuedBy }) => issuedBy ?? ''],
]

const OFFERED: ReadonlyMap<string, 'json' | 'csv'> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
])

/** The snapshot as of the requested moment, its position and its time. */
const momentOf = async (
  service: HistoryService,
  { query: { at }, request }: ReviewRequest,
  cursor: Cursor | undefined,
) => {
  const { log, now, asOf } = service
  const moment: Moment = cursor ? { position: BigInt(cursor.position) } : (at ?? { position: await log.head() })
  const past = at ? await snapshotAt(service, moment, request) : await asOf(moment, request.stop)
  const time = cursor ? new Date(cursor.time) : at ? new Date(await past.clock()) : now()
  return { past, position: (await past.moment()).position, time }
}

/** A page of a review, and the cursor of the next one. */
type Page = {
  readonly entries: readonly Entry[]
  readonly total: number
  readonly left: number
  readonly next?: Cursor
}

/** Returns a function that reads the page after a cursor, with at most `limit` entries. */
const pagesOf =
  (
    service: HistoryService,
    { past, position, time }: Awaited<ReturnType<typeof momentOf>>,
    given: Pick<ReviewRequest['query'], 'right'> & { readonly place: string },
  ) =>
  async (cursor: Cursor | undefined, limit: number): Promise<Page> => {
    const asked = { ...given, time, limit: limit + 1, after: cursor?.after, total: cursor?.total }
    const { able, total, left } = await reviewed(past, asked)
    const last = able.length > limit ? able[limit - 1] : undefined
    const progress = { total, position: String(position), time: time.toISOString() }
    return {
      entries: able.slice(0, limit).map(entryOf(service)),
      total,
      left,
      ...(last && { next: { after: placeOf(last.doc, 'createdAt'), ...progress } }),
    }
  }

/** All rows from a cursor on as CSV; fewer if the answer would be larger than `server.max_response_bytes`. */
const wholeTable = async (
  { settings }: HistoryService,
  { request }: ReviewRequest,
  read: ReturnType<typeof pagesOf>,
  from: Cursor | undefined,
) => {
  const rows = [csvOf<Entry>([], TABLE)]
  let bytes = 0
  let page: Page | undefined
  do {
    page = await read(page ? page.next : from, PAGE_MAX)
    await forEachSliced(page.entries, (entry) => {
      const row = csvRows([entry], TABLE)
      rows.push(row)
      bytes += Buffer.byteLength(row)
    })
  } while (page.next && bytes < settings.mostBytes / 2 && hasRoomFor(request, bytes * 2))
  return { text: rows.join(''), next: page.next, left: page.left }
}

const review = async (service: HistoryService, call: ReviewRequest): Promise<Answer<AccessReview>> => {
  await takePage(call)
  const { pageTokens, settings, log } = service
  const { query, request } = call
  const { right, at, pageToken, format } = query
  const place = query.namespaceKey === '' ? EVERYWHERE : query.namespaceKey
  const scope = ['access', right, place, momentText(at)]
  const cursor = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as Cursor)
  const tokenOf = (next: Cursor | undefined) => (next ? pageTokens.write(scope, next) : '')
  const moment = await momentOf(service, call, cursor)
  const { position, time } = moment
  const read = pagesOf(service, moment, { right, place })
  if (format === 'csv') {
    const { text, next, left } = await wholeTable(service, call, read, cursor)
    const filename = `rollcall-access-${position}.csv`
    const headers = {
      ...CSV,
      'next-page-token': tokenOf(next),
      'content-disposition': `attachment; filename="${filename}"`,
    }
    return leavingOut(service, left, csvAnswer(text, headers))
  }
  const { entries, total, left, next } = await read(cursor, query.limit === 0 ? PAGE : Math.min(query.limit, PAGE_MAX))
  const nextPageToken = tokenOf(next)
  if (format === undefined && acceptedForm(request.headers.accept, OFFERED) === 'csv')
    return leavingOut(service, left, csvAnswer(csvOf(entries, TABLE), { ...CSV, 'next-page-token': nextPageToken }))
  const openness = at && (await opennessAt(log, position))
  const body: AccessReview = {
    at: time.toISOString(),
    position: String(position),
    anonymous: isOpenFor(right, openness ?? settings),
    entries: [...entries],
    nextPageToken,
    ...(total > COUNTED ? { totalCount: COUNTED, totalCountExact: false } : { totalCount: total }),
  }
  return leavingOut(service, left, { body })
}

/** GET /audit/v1/access: tokens with a right in a namespace, now or at a moment (api.md §5.8, A19). */
export const auditAccessRoutes: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/access',
    ...audit,
    access: { credential: 'required', namespace: 'none', right: 'audit.read', past: 'free' },
    summary: 'Who may do something in a namespace or in every one, now or at a moment, and why; as JSON or CSV.',
    query: reviewQuery,
    errors: ['invalid_at', 'invalid_page_token', 'view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: AccessReview,
    run: (call) => {
      const answer = () => review(service, call)
      // A query with `at` has passed the limits of reads of past states already (`preconditions`).
      return call.query.at ? answer() : asOfReading(service, call.request, answer)
    },
  })
