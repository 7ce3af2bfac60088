import type { FastifyRequest } from 'fastify'
import { type Moment, rowNow } from '../../../as-of/as-of.ts'
import { Refusal, refuse } from '../../../base/errors.ts'
import { Nothing } from '../../../contract/answer.ts'
import { momentText } from '../../../contract/readers/moment.ts'
import { Authentication, AuthenticationList, oneToken, tokenQuery } from '../../../contract/token.ts'
import { METHODS, type Method } from '../../../events/token.ts'
import { readable } from '../../../projections/projection.ts'
import {
  comparePlaces,
  placeOf,
  type TokenPage,
  type TokenPlace,
  type TokenSort,
  tokensInOrder,
} from '../../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../../projections/tokens.ts'
import { revokeToken } from '../../auth/revoke-token.ts'
import { identitiesOf, searchedBy, type TokenFilter, wantedOf, whereOf } from '../../auth/token-filter.ts'
import { namespaceOfRecord } from '../../auth/token-records.ts'
import { contextOf, positionOf } from '../../commands/command-context.ts'
import { leavingOut } from '../../lists/paging.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { takePage } from '../../memory/room.ts'
import { presentAuthentication } from '../../present/authentication.ts'
import { placeInQuery } from '../../route/required-rights.ts'
import { allRoutes, route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { TokenMount, TokenService } from '../../services/tokens.ts'
import { snapshotAt } from '../../steps/as-of-readings.ts'
import { gather, listed } from '../../wire/pieces.ts'
import { jsonOf } from '../../wire/reply.ts'

/** Records of a list: one method, static tokens or sessions, or all. */
type Listed = {
  readonly method: Method | undefined
  /** True for the reserved method, which has no records. */
  readonly isReserved: boolean
  readonly kind: 'static' | 'session' | undefined
}

/**
 * One page plus one further record, which indicates a next page; also the time of the state and the number of
 * unreadable records.
 */
type TokenListing = {
  readonly docs: readonly TokenDoc[]
  readonly total: number
  readonly time: Date
  readonly left: number
}

const listNow = async (service: TokenService, filter: TokenFilter, page: TokenPage): Promise<TokenListing> => {
  const { now, views, closed } = service
  await waitForTokenView(service)
  const time = now()
  const { rows, total } = await tokensInOrder(views, whereOf(filter, time), page)
  return { docs: rows.flatMap(({ doc }) => doc ?? []), total, time, left: closed.count(tokens.category) }
}

const listThen = async (
  service: TokenService,
  moment: Moment,
  request: FastifyRequest,
  filter: TokenFilter,
  page: TokenPage,
): Promise<TokenListing> => {
  const snapshot = await snapshotAt(service, moment, request)
  const time = new Date(await snapshot.clock())
  return { ...(await snapshot.tokens({ ...wantedOf(filter, time.toISOString()), ...page })), time }
}

/** Merges several lists in their order; each list comes from an index of its own. */
const merged = (
  [first, ...others]: readonly [TokenListing, ...TokenListing[]],
  { limit, descending = false, sort = 'createdAt' }: TokenPage,
): TokenListing => {
  if (others.length === 0) return first
  const inOrder = comparePlaces(descending)
  const lists = [first, ...others]
  const docs = lists
    .flatMap((list) => list.docs)
    .sort((one, other) => inOrder(placeOf(one, sort), placeOf(other, sort)))
  const total = lists.reduce((sum, list) => sum + list.total, 0)
  return { ...first, docs: docs.slice(0, limit), total, left: Math.max(...lists.map(({ left }) => left)) }
}

/**
 * Methods to list separately; undefined lists all methods at once. An index over all methods exists only for the order
 * of creation.
 */
const methodsOf = ({ method, isReserved, kind }: Listed, sort: TokenSort): readonly (Method | undefined)[] => {
  if (isReserved) return []
  if (kind === undefined && sort === 'createdAt') return [method]
  const isOfKind = (one: Method) => kind === undefined || (one === 'token') === (kind === 'static')
  return METHODS.filter((one) => isOfKind(one) && (method === undefined || one === method))
}

/** One page of the records that match a filter, now or as of a moment. */
const listTokens = async (
  service: TokenService,
  listed: Listed,
  filter: Omit<TokenFilter, 'method'>,
  page: TokenPage,
  { at, request }: { readonly at: Moment | undefined; readonly request: FastifyRequest },
): Promise<TokenListing> => {
  const list = (ask: TokenFilter) => (at ? listThen(service, at, request, ask, page) : listNow(service, ask, page))
  const asks = methodsOf(listed, page.sort ?? 'createdAt').flatMap(
    (method) => searchedBy(filter, listed.method, listed.kind, method) ?? [],
  )
  const matchesNone = { ...filter, method: undefined, identities: [''] }
  const [one = matchesNone, ...others] = asks
  const lists: [TokenListing, ...TokenListing[]] = [await list(one)]
  for (const other of others) lists.push(await list(other))
  return merged(lists, page)
}

const PAGE = 25
const PAGE_MAX = 100
/** Maximum number of records counted, so that the cost of a list is bounded. */
const COUNTED = 10_000

const shown = ({ names, sealer }: TokenService, doc: TokenDoc, time: Date, used: ReadonlyMap<string, string>) =>
  presentAuthentication(doc, names, sealer, time, used.get(doc.id))

const ofRecord = (service: TokenService) => {
  const bound = namespaceOfRecord(service)
  return { record: ({ id }: Readonly<Record<string, string>>) => bound(id!) }
}

const listRecords: TokenMount = (app, service) => {
  const { names, pageTokens, logins, settings, uses } = service
  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens',
    ...authentication,
    access: { credential: 'required', namespace: { query: placeInQuery }, right: 'token.read', past: 'free' },
    summary: 'List authentication records, by default oldest first.',
    query: tokenQuery(names),
    errors: ['invalid_page_token', 'invalid_at', 'view_behind'],
    answer: AuthenticationList,
    run: async (call) => {
      const { query, request } = call
      const {
        method: wire,
        namespaceKey,
        status,
        q,
        pageToken,
        identity,
        issuedBy,
        access,
        at,
        sort,
        order,
        kind,
      } = query
      const limit = query.limit === 0 ? PAGE : Math.min(query.limit, PAGE_MAX)
      const more = [
        ...(order === 'asc' && kind === undefined ? [] : [order, kind ?? '']),
        ...(sort === 'createdAt' ? [] : [sort]),
        ...(access === undefined ? [] : ['access', access]),
      ]
      const scope = ['tokens', wire, namespaceKey, status ?? '', q, identity, issuedBy, momentText(at), ...more]
      const after = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as TokenPlace)
      const method = names.methodNamed(wire)
      const of = { method, isReserved: method === undefined && wire !== 'METHOD_NONE', kind }
      const filter = {
        identities: identitiesOf(logins.pseudonyms, identity, method),
        provider: '',
        namespaceKey,
        status,
        q,
        issuedBy: issuedBy === '' ? [] : [issuedBy],
        access,
      }
      await takePage(call)
      const page = { sort, descending: order === 'desc', limit: limit + 1, count: COUNTED + 1, ...(after && { after }) }
      const { docs, total, time, left } = await listTokens(service, of, filter, page, { at, request })
      const used = await uses.lastOf(
        docs.map(({ id }) => id),
        at && time,
      )
      const records = await Promise.all(docs.slice(0, limit).map((doc) => shown(service, doc, time, used)))
      const gathered = await gather(records, settings.mostBytes, jsonOf, call)
      const count = gathered.pieces.length
      const nextPageToken = docs.length > count ? pageTokens.write(scope, placeOf(docs[count - 1]!, sort)) : ''
      const counted = total > COUNTED ? { totalCount: COUNTED, totalCountExact: false } : { totalCount: total }
      return leavingOut(service, left, listed(['authentications'], gathered, { nextPageToken, ...counted }))
    },
  })
}

const getToken: TokenMount = (app, service) => {
  const { log, now, uses } = service
  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens/:id',
    ...authentication,
    access: { credential: 'required', namespace: ofRecord(service), right: 'token.read', past: 'free' },
    summary: 'Get one authentication record.',
    query: oneToken,
    errors: ['not_found', 'invalid_at'],
    answer: Authentication,
    run: async ({ params, query: { deleted, at }, request }) => {
      const id = params['id']!
      const snapshot = at && (await snapshotAt(service, at, request))
      const row = readable(await (snapshot ? snapshot.token(id) : rowNow(log, tokens, id)))
      const time = snapshot ? new Date(await snapshot.clock()) : now()
      const missing = `authentication "${id}": resource not found`
      if (!row?.doc) return refuse('not_found', missing)
      const { deletedAt } = row.doc
      if (deletedAt !== undefined && !deleted) throw new Refusal('not_found', missing, { metadata: { deletedAt } })
      return {
        body: await shown(service, row.doc, time, await uses.lastOf([id], snapshot && time)),
        etag: String(row.changes),
      }
    },
  })
}

const deleteToken: TokenMount = (app, service) => {
  route(app, {
    method: 'DELETE',
    url: '/auth/v1/tokens/:id',
    ...authentication,
    access: { credential: 'required', namespace: ofRecord(service), right: 'token.revoke' },
    summary:
      'Revoke a token, named by the id of its authentication record. Requests with the token are refused at once.',
    writes: 'always',
    answer: Nothing,
    run: async (call) => {
      const id = call.params['id']!
      const context = { ...contextOf(call, service), needsEffect: true }
      const stored = await revokeToken(service, id, context)
      return { body: {}, headers: await positionOf(service, stored) }
    },
  })
}

/** GET and DELETE under /auth/v1/tokens (api.md §5.4 A4–A6). */
export const authTokensRoutes = allRoutes(listRecords, getToken, deleteToken)
