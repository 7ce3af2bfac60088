import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { route } from '../route.ts'
import { ordinary } from '../statements.ts'
import type { Service } from '../service.ts'

const Any = Type.Object({}, { additionalProperties: true })

/** What this deployment is and how it is configured (api.md §11). */
export const metaRoutes = (app: FastifyInstance, { about }: Service): void => {
  const access = { credential: 'required', namespace: 'none' } as const
  const shared = { ...ordinary, method: 'GET', access, tag: 'Operations', answer: Any } as const
  route(app, {
    ...shared,
    url: '/meta/info',
    summary: 'Version and kind of this deployment.',
    run: () => ({ body: about.info }),
  })
  route(app, {
    ...shared,
    url: '/meta/config',
    summary: 'Effective configuration, without secrets.',
    run: () => ({ body: about.config }),
  })
}
