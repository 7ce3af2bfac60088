import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { token } from '../../commands/token.ts'
import { invalid, refuse } from '../../errors.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Match, Query } from '../../projections/views.ts'
import { Authentication, presentAuthentication } from '../authentication.ts'
import { choice, integer, optional, text } from '../fields.ts'
import { query } from '../input.ts'
import { methods } from '../names.ts'
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

/** GET and DELETE under /auth/v1/tokens (api.md §5.4 A4–A6). */
export const authTokensRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, execute, sealer, views, now, pageTokens } = service
  const byWireName = new Map(methods.map((method) => [names.method(method), method]))
  const shown = (doc: TokenDoc) => presentAuthentication(doc, names, sealer, now())

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
    }),
    errors: ['invalid_page_token'],
    answer: Type.Object({ authentications: Type.Array(Authentication), nextPageToken: Type.String(), totalCount: Type.Integer() }),
    run: async ({ query }) => {
      const { method, namespaceKey, status, q, pageToken } = query
      const limit = query.limit === 0 ? PAGE : Math.min(query.limit, PAGE_MAX)
      const scope = ['tokens', method, namespaceKey, status ?? '', q]
      const where: Where = {
        ...(status === undefined ? present : ofStatus[status](now().toISOString())),
        ...(method === 'METHOD_NONE' ? {} : { method: { equals: [byWireName.get(method) ?? method] } }),
        ...(namespaceKey === '' ? {} : { namespace: { equals: [namespaceKey] } }),
        ...(q === '' ? {} : { name: { prefix: q.toLowerCase() } }),
      }
      const from = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as Query['after'])
      const { rows, total } = await views.list<TokenDoc>(tokens, {
        where,
        order: 'createdAt',
        limit: limit + 1,
        ...(from && { after: from }),
      })
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      const more = rows.length > limit && last?.doc !== undefined
      return {
        body: {
          authentications: await Promise.all(page.map(({ doc }) => shown(doc!))),
          nextPageToken: more ? pageTokens.write(scope, { value: last.doc.createdAt, key: last.key }) : '',
          totalCount: total,
        },
      }
    },
  })

  const missing = (id: string) => refuse('not_found', `authentication "${id}": resource not found`)

  route(app, {
    method: 'GET',
    url: '/auth/v1/tokens/:id',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'Get one authentication record.',
    errors: ['not_found'],
    answer: Authentication,
    run: async ({ params }) => {
      const id = params['id']!
      if (id === '') invalid('id', 'must not be empty')
      const row = await views.get<TokenDoc>(tokens, id)
      if (!row?.doc || row.doc.deletedAt !== undefined) return missing(id)
      return { body: await shown(row.doc), etag: String(row.changes) }
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
