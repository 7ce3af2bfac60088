import type { FastifyInstance } from 'fastify'
import { AnyObject, Text } from '../../contract/answer.ts'
import { docsPage, pageHeaders } from '../operations/docs-page.ts'
import { type Documented, openApi } from '../operations/openapi.ts'
import { route, type Spec } from '../route.ts'
import { ordinary } from '../statements.ts'
import { type Kept, kept } from '../wire/gzip.ts'
import { named } from '../../contract/input.ts'
import { parametersOf } from '../wire/path.ts'

/** GET `/openapi.json` and `/docs`, over the routes mounted when they are first asked. */
export const documentRoutes = (app: FastifyInstance, specs: readonly Spec[], documented: Documented): void => {
  let made: { readonly document: Kept; readonly pretty: Kept; readonly page: Kept } | undefined
  const make = () => {
    const document = openApi(specs, documented)
    return {
      document: kept(JSON.stringify(document)),
      pretty: kept(JSON.stringify(document, null, 2)),
      page: kept(docsPage(document)),
    }
  }
  const shared = { ...ordinary, method: 'GET', access: { credential: 'public' }, tag: 'Operations' } as const
  route(app, {
    ...shared,
    url: '/openapi.json',
    summary: 'This service in OpenAPI 3.1',
    answer: AnyObject,
    run: ({ request }) => {
      made ??= make()
      return { body: undefined, kept: named(parametersOf(request), 'pretty') ? made.pretty : made.document }
    },
  })
  route(app, {
    ...shared,
    url: '/docs',
    summary: 'The documentation page',
    answer: Text,
    hidden: true,
    run: () => ({ body: undefined, kept: (made ??= make()).page, headers: pageHeaders }),
  })
}
