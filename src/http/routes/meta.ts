import type { FastifyInstance } from 'fastify'
import { Configuration, Info } from '../../contract/operations.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { InstanceServices } from '../services/instance.ts'

/** Version and configuration of the deployment (api.md §11). */
export const metaRoutes = (app: FastifyInstance, { about }: InstanceServices): void => {
  const access = { credential: 'required', namespace: 'none' } as const
  const shared = { ...ordinary, method: 'GET', tag: 'Operations' } as const
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
