import type { FastifyRequest } from 'fastify'
import type { Moment } from '../../as-of/as-of.ts'
import { METHODS, type Method } from '../../events/token.ts'
import {
  comparePlaces,
  placeOf,
  type TokenPage,
  type TokenSort,
  tokensInOrder,
} from '../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import { searchedBy, type TokenFilter, wantedOf, whereOf } from '../auth/token-filter.ts'
import type { TokenService } from '../services/tokens.ts'
import { snapshotAt } from '../steps/as-of-readings.ts'
import { waitForTokenView } from './wait-for-token-view.ts'

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
export const listTokens = async (
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
