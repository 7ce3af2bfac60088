import { Nothing } from '../../contract/answer.ts'
import { momentText } from '../../contract/moment.ts'
import { Authentication, AuthenticationList, oneToken, tokenQuery } from '../../contract/token.ts'
import { jsonOf } from '../wire/reply.ts'
import { type Moment, rowNow } from '../../audit/as-of.ts'
import { token } from '../../commands/token.ts'
import { type Method, METHODS } from '../../events/token.ts'
import { Refusal, refuse } from '../../errors.ts'
import { readable } from '../../projections/projection.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Query } from '../../projections/views.ts'
import { leavingOut } from '../paging.ts'
import { presentAuthentication } from '../present/authentication.ts'
import { completeTokens } from '../complete.ts'
import { gather, listed } from '../wire/pieces.ts'
import { route } from '../route.ts'
import { authentication } from '../statements.ts'
import type { Mount, Service } from '../service.ts'
import { identitiesOf, placeOf, type TokenFilter, wantedOf, whereOf } from '../auth/token-filter.ts'
import { contextOf, applyEvents } from '../command-context.ts'

const PAGE = 25
const PAGE_MAX = 100
/** Records are counted no further: what a list costs must not grow with what there is. */
const COUNTED = 10_000

/** `limit` is one beyond the page, which tells whether there is another. */
type Page = Pick<Query, 'after' | 'limit'> & { readonly descending: boolean; readonly count: number }
type Listing = {
  readonly docs: readonly TokenDoc[]
  readonly total: number
  readonly time: Date
  readonly left: number
}

const shown = ({ names, sealer }: Service, doc: TokenDoc, time: Date) => presentAuthentication(doc, names, sealer, time)

const listNow = async (service: Service, filter: TokenFilter, page: Page): Promise<Listing> => {
  const { now, views, closed } = service
  await completeTokens(service)
  const time = now()
  const { rows, total } = await views.list<TokenDoc>(tokens, {
    where: whereOf(filter, time),
    order: 'createdAt',
    ...page,
  })
  return { docs: rows.flatMap(({ doc }) => doc ?? []), total, time, left: closed.count(tokens.category) }
}

const listThen = async (
  { asOf }: Service,
  moment: Moment,
  stop: AbortSignal,
  filter: TokenFilter,
  page: Page,
): Promise<Listing> => {
  const then = await asOf(moment, stop)
  const time = new Date(await then.clock())
  return { ...(await then.tokens({ ...wantedOf(filter, time.toISOString()), ...page })), time }
}

/** The records of several lists as one, in their order; each list is found by an index of its own. */
const merged = ([first, ...others]: readonly [Listing, ...Listing[]], { limit, descending }: Page): Listing => {
  if (others.length === 0) return first
  const isLater = (one: TokenDoc, other: TokenDoc) =>
    one.createdAt > other.createdAt || (one.createdAt === other.createdAt && one.id > other.id)
  const lists = [first, ...others]
  const docs = lists.flatMap((list) => list.docs).sort((one, other) => (isLater(one, other) === descending ? -1 : 1))
  const total = lists.reduce((sum, list) => sum + list.total, 0)
  return { ...first, docs: docs.slice(0, limit), total, left: Math.max(...lists.map(({ left }) => left)) }
}

/** The methods that a list is of, one by one, undefined for all at once: the reserved one has no records. */
const methodsOf = (method: Method | undefined, isReserved: boolean, kind: 'static' | 'session' | undefined) => {
  if (isReserved) return []
  if (kind === undefined) return [{ method }]
  const ofKind = METHODS.filter((one) => (one === 'token') === (kind === 'static'))
  return ofKind.filter((one) => method === undefined || one === method).map((one) => ({ method: one }))
}

const listTokens: Mount = (app, service) => {
  const { names, pageTokens, logins, settings } = service
  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens',
    ...authentication,
    access: { credential: 'required', namespace: 'none' },
    summary: 'List authentication records, by default oldest first.',
    query: tokenQuery(names),
    errors: ['invalid_page_token', 'invalid_at', 'view_behind'],
    answer: AuthenticationList,
    run: async ({ query, request }) => {
      const { method: wire, namespaceKey, status, q, pageToken, identity, issuedBy, at, order, kind } = query
      const limit = query.limit === 0 ? PAGE : Math.min(query.limit, PAGE_MAX)
      const more = order === 'asc' && kind === undefined ? [] : [order, kind ?? '']
      const scope = ['tokens', wire, namespaceKey, status ?? '', q, identity, issuedBy, momentText(at), ...more]
      const after = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as Query['after'])
      const method = names.methodNamed(wire)
      const identities = identitiesOf(logins.pseudonyms, identity, method)
      const filter: Omit<TokenFilter, 'method'> = {
        identities,
        provider: '',
        namespaceKey,
        status,
        q,
        issuedBy: issuedBy === '' ? [] : [issuedBy],
      }
      const page = { limit: limit + 1, count: COUNTED + 1, descending: order === 'desc', ...(after && { after }) }
      const list = (ask: TokenFilter) =>
        at ? listThen(service, at, request.stop, ask, page) : listNow(service, ask, page)
      const [one, ...others] = methodsOf(method, method === undefined && wire !== 'METHOD_NONE', kind)
      const first = await list(one ? { ...filter, ...one } : { ...filter, method: undefined, identities: [''] })
      const lists: [Listing, ...Listing[]] = [first]
      for (const other of others) lists.push(await list({ ...filter, ...other }))
      const { docs, total, time, left } = merged(lists, page)
      const records = await Promise.all(docs.slice(0, limit).map((doc) => shown(service, doc, time)))
      const gathered = await gather(records, settings.mostBytes, jsonOf)
      const count = gathered.pieces.length
      const nextPageToken = docs.length > count ? pageTokens.write(scope, placeOf(docs[count - 1]!)) : ''
      const counted = total > COUNTED ? { totalCount: COUNTED, totalCountExact: false } : { totalCount: total }
      return leavingOut(service, left, listed(['authentications'], gathered, { nextPageToken, ...counted }))
    },
  })
}

const getToken: Mount = (app, service) => {
  const { log, now, asOf } = service
  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens/:id',
    ...authentication,
    access: { credential: 'required', namespace: 'none' },
    summary: 'Get one authentication record.',
    query: oneToken,
    errors: ['not_found', 'invalid_at'],
    answer: Authentication,
    run: async ({ params, query: { at }, request }) => {
      const id = params['id']!
      const then = at && (await asOf(at, request.stop))
      const row = readable(await (then ? then.token(id) : rowNow(log, tokens, id)))
      const time = then ? new Date(await then.clock()) : now()
      const missing = `authentication "${id}": resource not found`
      if (!row?.doc) return refuse('not_found', missing)
      const { deletedAt } = row.doc
      if (deletedAt !== undefined) throw new Refusal('not_found', missing, { metadata: { deletedAt } })
      return { body: await shown(service, row.doc, time), etag: String(row.changes) }
    },
  })
}

const deleteToken: Mount = (app, service) => {
  const { execute } = service
  route(app, {
    method: 'DELETE',
    url: '/auth/v1/tokens/:id',
    ...authentication,
    access: { credential: 'required', namespace: 'none' },
    summary: 'Delete an authentication record; its token stops working at once.',
    writes: 'always',
    answer: Nothing,
    run: async (call) => {
      const id = call.params['id']!
      const context = { ...contextOf(call, service), needsEffect: true }
      const { stored } = await execute(token, id, 'RevokeToken', { id }, context)
      const { headers } = await applyEvents(service, stored)
      return { body: {}, headers }
    },
  })
}

/** GET and DELETE under /auth/v1/tokens (api.md §5.4 A4–A6). */
export const authTokensRoutes: Mount = (app, service) => {
  listTokens(app, service)
  getToken(app, service)
  deleteToken(app, service)
}
