import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Moment } from '../../audit/travel.ts'
import { token } from '../../commands/token.ts'
import { invalid, refuse } from '../../errors.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Match, Query } from '../../projections/views.ts'
import { ok } from '../answer.ts'
import { Authentication, presentAuthentication, statusOf } from '../authentication.ts'
import { choice, integer, optional, text } from '../fields.ts'
import { atOf } from '../headers.ts'
import { query } from '../input.ts'
import { methods, type Names } from '../names.ts'
import { route } from '../route.ts'
import type { Service } from '../service.ts'
import { contextOf, settled } from '../write.ts'

const PAGE = 25
const PAGE_MAX = 100

type Where = Record<string, Match | readonly Match[]>
const present: Where = { deletedAt: { equals: [undefined] } }

/** Conditions of the status filter; a token ends at the instant of its expiry. */
const ofStatus = {
  ACTIVE: (now: string): Where => ({ ...present, expiresAt: { from: after(now), orAbsent: true } }),
  EXPIRED: (now: string): Where => ({ ...present, expiresAt: { below: after(now) } }),
  DELETED: (): Where => ({ deletedAt: { from: '' } }),
} as const
/** The first text behind every instant up to this one. */
const after = (instant: string) => `${instant}~`

type Filter = {
  readonly method: string
  readonly namespaceKey: string
  readonly status: keyof typeof ofStatus | undefined
  readonly q: string
}

/** The same conditions on documents of another time, when the clock showed `now`. */
const passes = ({ method, namespaceKey, status, q }: Filter, names: Names, now: Date) => {
  const prefix = q.toLowerCase()
  return (doc: TokenDoc): boolean =>
    (method === 'METHOD_NONE' || names.method(doc.method) === method) &&
    (namespaceKey === '' || doc.namespace === namespaceKey) &&
    (prefix === '' || (doc.name?.startsWith(prefix) ?? false)) &&
    (status === undefined ? doc.deletedAt === undefined : statusOf(doc, now) === status)
}

/** GET and DELETE under /auth/v1/tokens (api.md §5.4 A4–A6). */
export const authTokensRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, execute, sealer, views, now, pageTokens, past } = service
  const byWireName = new Map(methods.map((method) => [names.method(method), method]))
  const shown = (doc: TokenDoc, at = now()) => presentAuthentication(doc, names, sealer, at)
  /** The answer for one page, and the cursor behind it where more follow. */
  const pageOf = async (scope: readonly unknown[], docs: readonly TokenDoc[], more: boolean, totalCount: number, at: Date) => {
    const last = more ? docs.at(-1) : undefined
    return {
      body: {
        authentications: await Promise.all(docs.map((doc) => shown(doc, at))),
        nextPageToken: last ? pageTokens.write(scope, { value: last.createdAt, key: last.id }) : '',
        totalCount,
      },
    }
  }
  /** The list at a moment: all tokens are folded from their streams, then filtered. */
  const listAt = async (moment: Moment, filter: Filter, scope: readonly unknown[], after: Query['after'], limit: number) => {
    const then = await past(moment)
    const at = new Date(await then.clock())
    const docs = (await then.tokens()).filter(passes(filter, names, at))
    const found = after
      ? docs.findIndex(({ createdAt, id }) => createdAt > after.value || (createdAt === after.value && id > after.key))
      : 0
    const start = found < 0 ? docs.length : found
    return pageOf(scope, docs.slice(start, start + limit), start + limit < docs.length, docs.length, at)
  }

  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'List authentication records, oldest first.',
    query: query({
      limit: integer({ min: 0, minMessage: 'must not be negative' }),
      pageToken: text(),
      method: choice(names.methodNumbers, 'METHOD_NONE'),
      namespaceKey: text(),
      status: optional(choice({ ACTIVE: 0, EXPIRED: 1, DELETED: 2 }, 'ACTIVE')),
      q: text({ max: 255 }),
      at: text({ stored: false }),
    }),
    errors: ['invalid_page_token', 'invalid_at'],
    answer: Type.Object({ authentications: Type.Array(Authentication), nextPageToken: Type.String(), totalCount: Type.Integer() }),
    run: async ({ query }) => {
      const { method, namespaceKey, status, q, pageToken } = query
      const limit = query.limit === 0 ? PAGE : Math.min(query.limit, PAGE_MAX)
      const moment = atOf(query.at)
      const scope = ['tokens', method, namespaceKey, status ?? '', q, query.at]
      const from = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as Query['after'])
      if (moment) return listAt(moment, query, scope, from, limit)
      const where: Where = {
        ...(status === undefined ? present : ofStatus[status](now().toISOString())),
        ...(method === 'METHOD_NONE' ? {} : { method: { equals: [byWireName.get(method) ?? method] } }),
        ...(namespaceKey === '' ? {} : { namespace: { equals: [namespaceKey] } }),
        ...(q === '' ? {} : { name: { prefix: q.toLowerCase() } }),
      }
      const { rows, total } = await views.list<TokenDoc>(tokens, {
        where,
        order: 'createdAt',
        limit: limit + 1,
        ...(from && { after: from }),
      })
      const docs = rows.slice(0, limit).flatMap(({ doc }) => doc ?? [])
      return pageOf(scope, docs, rows.length > limit, total, now())
    },
  })

  const missing = (id: string) => refuse('not_found', `authentication "${id}": resource not found`)

  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens/:id',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'Get one authentication record.',
    query: query({ at: text({ stored: false }) }),
    errors: ['not_found', 'invalid_at'],
    answer: Authentication,
    run: async ({ params, query }) => {
      const id = params['id']!
      if (id === '') invalid('id', 'must not be empty')
      const moment = atOf(query.at)
      const then = moment && (await past(moment))
      const row = await (then ? then.token(id) : views.get<TokenDoc>(tokens, id))
      if (!row?.doc || row.doc.deletedAt !== undefined) return missing(id)
      return ok(await shown(row.doc, then && new Date(await then.clock())), row.changes)
    },
  })

  route(app, {
    method: 'DELETE',
    url: '/auth/v1/tokens/:id',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'Delete an authentication record; its token stops working at once.',
    writes: true,
    answer: Type.Object({}),
    run: async (call) => {
      const id = call.params['id']!
      if (id === '') invalid('id', 'must not be empty')
      const context = { ...contextOf(call, service), needsEffect: true }
      const { stored } = await execute(token, id, 'RevokeToken', { id }, context)
      const { headers } = await settled(service, stored)
      return { body: {}, headers }
    },
  })
}
