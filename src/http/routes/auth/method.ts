import type { FastifyInstance } from 'fastify'
import type { Shown } from '../../../contract/answer.ts'
import { Methods } from '../../../contract/login/login.ts'
import { isLogin } from '../../../events/login.ts'
import type { Method } from '../../../events/token.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { LoginService } from '../../services/logins.ts'

type ListedMethod = Shown<typeof Methods>['methods'][number]

const paths = (base: string, path: string, name: string | undefined) => ({
  authorize_url: `${base}/auth/v1/method/${path}/authorize`,
  callback_url: `${base}/auth/v1/method/${path}/callback`,
  ...(name !== undefined && { name }),
})

/** GET /auth/v1/method: methods to obtain a client token (api.md §5.4 A1). */
export const authMethodRoutes = (app: FastifyInstance, { names, cookies, logins: { methods } }: LoginService): void => {
  route(app, {
    method: 'GET',
    url: '/auth/v1/method',
    ...authentication,
    access: { credential: 'public' },
    summary: 'List the methods with which a client can get a token.',
    answer: Methods,
    run: ({ request }) => {
      const base = cookies.basePath(request)
      const { providers } = methods.oidc
      const oidc = {
        providers: Object.fromEntries(providers.map(({ key, name }) => [key, paths(base, `oidc/${key}`, name)])),
        order: providers.map(({ key }) => key),
      }
      // Methods with a browser session list their authorize and callback URLs.
      const metadata: Readonly<Record<Method, ListedMethod['metadata']>> = {
        token: undefined,
        codehost: paths(base, names.codehostPath, methods.codehost.display_name),
        oidc,
        orchestrator: undefined,
      }
      const listed = (Object.keys(metadata) as readonly Method[]).map((method) => ({
        method: names.method[method],
        enabled: methods[method].enabled,
        sessionCompatible: isLogin(method),
        ...(metadata[method] && { metadata: metadata[method] }),
      }))
      return { body: { methods: listed } }
    },
  })
}
