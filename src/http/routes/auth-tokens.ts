import { Nothing } from '../../contract/answer.ts'
import { momentText } from '../../contract/moment.ts'
import { Authentication, AuthenticationList, oneToken, tokenQuery } from '../../contract/token.ts'
import { jsonOf } from '../wire/reply.ts'
import { type Moment, rowNow } from '../../audit/as-of.ts'
import { token } from '../../commands/token.ts'
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

/** `docs` reach one beyond the page, which tells whether there is another. */
type Listing = {
  readonly docs: readonly TokenDoc[]
  readonly total: number
  readonly time: Date
  readonly left: number
}

const shown = ({ names, sealer }: Service, doc: TokenDoc, time: Date) => presentAuthentication(doc, names, sealer, time)

const listNow = async (
  service: Service,
  filter: TokenFilter,
  after: Query['after'],
  limit: number,
): Promise<Listing> => {
  const { now, views, closed } = service
  await completeTokens(service)
  const time = now()
  const page = { where: whereOf(filter, time), order: 'createdAt', limit, count: COUNTED + 1, ...(after && { after }) }
  const { rows, total } = await views.list<TokenDoc>(tokens, page)
  return { docs: rows.flatMap(({ doc }) => doc ?? []), total, time, left: closed.count(tokens.category) }
}

const listThen = async (
  { asOf }: Service,
  moment: Moment,
  stop: AbortSignal,
  filter: TokenFilter,
  after: Query['after'],
  limit: number,
): Promise<Listing> => {
  const then = await asOf(moment, stop)
  const time = new Date(await then.clock())
  const asked = { ...wantedOf(filter, time.toISOString()), limit, count: COUNTED + 1, ...(after && { after }) }
  return { ...(await then.tokens(asked)), time }
}

const listTokens: Mount = (app, service) => {
  const { names, pageTokens, logins, settings } = service
  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens',
    ...authentication,
    access: { credential: 'required', namespace: 'none' },
    summary: 'List authentication records, oldest first.',
    query: tokenQuery(names),
    errors: ['invalid_page_token', 'invalid_at', 'view_behind'],
    answer: AuthenticationList,
    run: async ({ query, request }) => {
      const { method: wire, namespaceKey, status, q, pageToken, identity, issuedBy, at } = query
      const limit = query.limit === 0 ? PAGE : Math.min(query.limit, PAGE_MAX)
      const scope = ['tokens', wire, namespaceKey, status ?? '', q, identity, issuedBy, momentText(at)]
      const after = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as Query['after'])
      const method = names.methodNamed(wire)
      const identities = identitiesOf(logins.pseudonyms, identity, method)
      const filter: TokenFilter = {
        method,
        identities,
        provider: '',
        namespaceKey,
        status,
        q,
        issuedBy: issuedBy === '' ? [] : [issuedBy],
      }
      // The reserved method has no records.
      const none = method === undefined && wire !== 'METHOD_NONE'
      const ask = none ? { ...filter, identities: [''] } : filter
      const { docs, total, time, left } = at
        ? await listThen(service, at, request.stop, ask, after, limit + 1)
        : await listNow(service, ask, after, limit + 1)
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
