import { freshSecrets, type LoginSecrets } from '../../auth/identity.ts'
import { Refusal } from '../../base/errors.ts'
import type { Shown } from '../../contract/answer.ts'
import type { LoginBegun, loginQuery } from '../../contract/login/login.ts'
import type { Call } from '../route/route.ts'
import type { LoginMethod, LoginService } from '../services/logins.ts'
import type { Answer } from '../wire/reply.ts'
import { holdLogin } from './held-logins.ts'
import { attemptRefused } from './login-attempts.ts'

type Request = Call<unknown, ReturnType<(typeof loginQuery)['read']>>

/** Matches a path with an empty segment before the last, or with a dot segment, which browsers resolve. */
const stepping = /\/(?:\/|(?:\.|%2e){1,2}(?:\/|$))/i

/** The path if it stays on this origin in a browser; else the base path (api.md §5.5). */
const safeReturn = (path: string, base: string): string => {
  const isPath = path.length <= 2048 && /^\/[\x21-\x5b\x5d-\x7e]*$/.test(path)
  return isPath && !stepping.test(path.split(/[?#]/, 1)[0]!) ? path : `${base}/`
}

const authorizeUrlOf = async (
  service: LoginService,
  { request, query: { prompt } }: Request,
  loginMethod: LoginMethod,
  secrets: LoginSecrets,
) => {
  try {
    return String(await loginMethod.begin(secrets, prompt))
  } catch (error) {
    if (error instanceof Refusal) attemptRefused(service, request, loginMethod, error)
    throw error
  }
}

/**
 * Begins a login. Returns the provider's authorization URL, and sets the state cookie that binds the login to this
 * browser. The service stores nothing until the callback.
 */
export const beginLogin = async (
  service: LoginService,
  call: Request,
  loginMethod: LoginMethod,
): Promise<Answer<Shown<typeof LoginBegun>>> => {
  const { cookies, settings, now, refusals } = service
  const { request } = call
  const { method, provider } = loginMethod
  const secrets = freshSecrets()
  const authorizeUrl = await authorizeUrlOf(service, call, loginMethod, secrets)
  const time = now()
  holdLogin(service, call, loginMethod, {
    ...secrets,
    method,
    ...(provider !== undefined && { provider }),
    returnTo: safeReturn(call.query.return_to, cookies.basePath(request)),
    startedAt: time.toISOString(),
    expiresAt: new Date(time.getTime() + settings.session.stateLifetime).toISOString(),
  })
  refusals.begun(provider === undefined ? method : `${method}/${provider}`)
  return { body: { authorizeUrl } }
}
