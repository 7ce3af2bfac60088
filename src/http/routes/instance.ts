import type { FastifyInstance } from 'fastify'
import { refuse } from '../../base/errors.ts'
import { Configuration, Health, healthQuery, Info, Liveness, Readiness } from '../../contract/operations.ts'
import { named } from '../../contract/readers/input.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { InstanceServices } from '../services/instance.ts'
import { parametersOf } from '../wire/path.ts'

const shared = { ...ordinary, method: 'GET', tag: 'Operations' } as const

/** Version and configuration of the deployment (api.md §11). */
export const metaRoutes = (app: FastifyInstance, { about }: InstanceServices): void => {
  const access = { credential: 'required', namespace: 'none' } as const
  route(app, {
    ...shared,
    url: '/meta/info',
    access: { ...access, right: 'self.use' },
    summary: 'Get the version of the service and the kind of its storage.',
    answer: Info,
    run: () => ({ body: about.info }),
  })
  route(app, {
    ...shared,
    url: '/meta/config',
    access: { ...access, right: 'config.read' },
    summary: 'Effective configuration, without secrets.',
    answer: Configuration,
    run: () => ({ body: about.config }),
  })
}

/** Refuses a health check of a named service, because there are no named services (api.md §11). */
export const unnamed = ({ service }: { readonly service: string }): void => {
  if (service !== '') refuse('not_found', 'unknown service')
}

/** Health and readiness (api.md §11). */
export const healthRoutes = (app: FastifyInstance, service: InstanceServices): void => {
  const open = { ...shared, access: { credential: 'public' } } as const

  route(app, {
    ...open,
    url: '/livez',
    summary: 'Whether the process answers.',
    answer: Liveness,
    run: () => ({ body: { status: 'ok' as const } }),
  })

  route(app, {
    ...open,
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
    ...open,
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
