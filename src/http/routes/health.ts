import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../errors.ts'
import { text } from '../../contract/fields.ts'
import { query } from '../../contract/input.ts'
import { named, rawQuery } from '../wire/path.ts'
import { route } from '../route.ts'
import { ordinary } from '../statements.ts'
import type { Service } from '../service.ts'

const Status = Type.Object({ status: Type.String() })

/** What may be asked of `/health`. */
export const healthQuery = query({ service: text({ stored: false }) })

/** Refuses a question after the health of a service by name: none here goes by one (api.md §11). */
export const unnamed = ({ service }: { readonly service: string }): void => {
  if (service !== '') refuse('not_found', 'unknown service')
}

/** Health and readiness (api.md §11). */
export const healthRoutes = (app: FastifyInstance, service: Service): void => {
  const shared = { ...ordinary, method: 'GET', access: { credential: 'public' }, tag: 'Operations' } as const

  route(app, {
    ...shared,
    url: '/livez',
    summary: 'Whether the process answers.',
    answer: Status,
    run: () => ({ body: { status: 'ok' } }),
  })

  route(app, {
    ...shared,
    url: '/readyz',
    summary: 'Whether this instance takes requests; ?verbose names what is missing.',
    answer: Status,
    run: async ({ request }) => {
      const { ready, checks } = await service.readiness()
      const verbose = named(rawQuery(request), 'verbose')
      return { status: ready ? 200 : 503, body: { status: ready ? 'ready' : 'not_ready', ...(verbose && { checks }) } }
    },
  })

  route(app, {
    ...shared,
    url: '/health',
    summary: 'Health as gRPC clients know it.',
    query: healthQuery,
    answer: Status,
    run: async ({ query }) => {
      unnamed(query)
      const { ready } = await service.readiness()
      return { status: ready ? 200 : 503, body: { status: ready ? 'SERVING' : 'NOT_SERVING' } }
    },
  })
}
