import type { FastifyInstance } from 'fastify'
import { AnyObject, Text } from '../../contract/answer.ts'
import { named } from '../../contract/readers/input.ts'
import { asyncApi } from '../../events/reference/asyncapi.ts'
import { docsPage, pageHeaders } from '../operations/docs-page.ts'
import { type Documented, openApi } from '../operations/openapi.ts'
import { route, type Spec } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import { kept } from '../wire/gzip.ts'
import { parametersOf } from '../wire/path.ts'

/** Returns a function that computes its value on first use. */
const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** GET `/openapi.json`, `/asyncapi.json` and `/docs`, generated on first request from the mounted routes and the events. */
export const documentRoutes = (app: FastifyInstance, specs: readonly Spec[], documented: Documented): void => {
  const document = once(() => openApi(specs, documented))
  const json = once(() => kept(JSON.stringify(document())))
  const pretty = once(() => kept(JSON.stringify(document(), null, 2)))
  const events = once(() => kept(JSON.stringify(asyncApi())))
  const prettyEvents = once(() => kept(JSON.stringify(asyncApi(), null, 2)))
  const page = once(() => kept(docsPage(document())))
  const shared = { ...ordinary, method: 'GET', access: { credential: 'public' }, tag: 'Operations' } as const
  route(app, {
    ...shared,
    url: '/openapi.json',
    summary: 'This service in OpenAPI 3.1',
    answer: AnyObject,
    run: ({ request }) => ({ body: undefined, kept: named(parametersOf(request), 'pretty') ? pretty() : json() }),
  })
  route(app, {
    ...shared,
    url: '/asyncapi.json',
    summary: 'The events of the history in AsyncAPI 3.0',
    answer: AnyObject,
    run: ({ request }) => ({
      body: undefined,
      kept: named(parametersOf(request), 'pretty') ? prettyEvents() : events(),
    }),
  })
  route(app, {
    ...shared,
    url: '/docs',
    summary: 'The documentation page',
    answer: Text,
    hidden: true,
    run: () => ({ body: undefined, kept: page(), headers: pageHeaders }),
  })
}
