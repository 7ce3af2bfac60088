import type { FastifyInstance } from 'fastify'
import { refuse } from '../../base/errors.ts'
import { Text } from '../../contract/answer.ts'
import { route } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import type { UiFiles } from '../ui/page.ts'

/** GET `/ui/assets/…` and `/ui/icon.svg`: files of the web UI (ui.md §1.1), precompressed at build time. */
export const uiRoutes = (app: FastifyInstance, { icon, assets }: UiFiles): void => {
  const shared = {
    ...ordinary,
    method: 'GET',
    access: { credential: 'public' },
    tag: 'Operations',
    answer: Text,
    hidden: true,
  } as const
  route(app, {
    ...shared,
    url: '/ui/assets/:name',
    summary: 'A file of the web UI',
    run: ({ params }) => {
      const file = assets.get(params['name']!) ?? refuse('not_found', 'resource not found')
      return {
        body: undefined,
        packed: file,
        headers: { 'content-type': file.type, 'cache-control': 'public, max-age=31536000, immutable' },
      }
    },
  })
  route(app, {
    ...shared,
    url: '/ui/icon.svg',
    summary: 'The icon of the web UI',
    run: () => ({
      body: undefined,
      packed: { plain: icon, br: undefined, gzip: undefined },
      headers: { 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=86400' },
    }),
  })
}
