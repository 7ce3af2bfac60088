import type { FastifyInstance } from 'fastify'
import { refuse } from '../../base/errors.ts'
import { Health, healthQuery, Liveness, Readiness } from '../../contract/operations.ts'
import { named } from '../../contract/readers/input.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { InstanceServices } from '../services/instance.ts'
import { parametersOf } from '../wire/path.ts'

/** Refuses a health check of a named service, because there are no named services (api.md §11). */
export const unnamed = ({ service }: { readonly service: string }): void => {
  if (service !== '') refuse('not_found', 'unknown service')
}

/** Health and readiness (api.md §11). */
export const healthRoutes = (app: FastifyInstance, service: InstanceServices): void => {
  const shared = { ...ordinary, method: 'GET', access: { credential: 'public' }, tag: 'Operations' } as const

  route(app, {
    ...shared,
    url: '/livez',
    summary: 'Whether the process answers.',
    answer: Liveness,
    run: () => ({ body: { status: 'ok' as const } }),
  })

  route(app, {
    ...shared,
    url: '/readyz',
    summary: 'Whether this instance accepts requests. With ?verbose the answer lists the state of each part.',
    answer: Readiness,
    run: async ({ request }) => {
      const { ready, checks } = await service.readiness()
      const verbose = named(parametersOf(request), 'verbose')
      const status: Readiness['status'] = ready ? 'ready' : 'not_ready'
      return { status: ready ? 200 : 503, body: { status, ...(verbose && { checks }) } }
    },
  })

  route(app, {
    ...shared,
    url: '/health',
    summary: 'Whether this instance accepts requests, in the format of the health check of gRPC.',
    query: healthQuery,
    answer: Health,
    run: async ({ query }) => {
      unnamed(query)
      const { ready } = await service.readiness()
      const status: Health['status'] = ready ? 'SERVING' : 'NOT_SERVING'
      return { status: ready ? 200 : 503, body: { status } }
    },
  })
}
