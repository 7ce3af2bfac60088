import type { FastifyInstance } from 'fastify'
import type { Refusal } from '../../../base/errors.ts'
import { Nothing } from '../../../contract/answer.ts'
import { LogoutForm } from '../../../contract/login/login.ts'
import { endAtProvider } from '../../login/end-at-provider.ts'
import { turnedAway } from '../../login/login-attempts.ts'
import { addressKey } from '../../memory/holder.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { LoginMethod, LoginService } from '../../services/logins.ts'

/** Maximum size of a form in bytes. */
const MOST_BYTES = 32_768

/** Error in the form of OpenID Connect Back-Channel Logout 1.0 §2.8. */
const logoutError = ({ status, message }: Refusal): object => ({
  error: status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request',
  error_description: message,
})

/** POST /auth/v1/method/oidc/{provider}/backchannel-logout: ends the sessions that a provider reports (api.md §5.5). */
export const backchannelLogoutRoute = (
  app: FastifyInstance,
  service: LoginService,
  path: string,
  methodOf: (params: Readonly<Record<string, string>>) => LoginMethod,
): void =>
  route(app, {
    method: 'POST',
    url: `${path}/backchannel-logout`,
    ...authentication,
    access: { credential: 'public' },
    bodyLimit: MOST_BYTES,
    writes: 'always',
    ownsIdempotency: true,
    summary:
      'End the sessions of a person whom the provider signed out. The provider sends a logout token (OpenID Connect Back-Channel Logout 1.0).',
    limit: (request) =>
      turnedAway(
        service,
        request,
        { method: 'oidc', isLogout: true },
        service.logins.reported.failures,
        addressKey(request.address),
      ),
    form: LogoutForm,
    errorBody: logoutError,
    errors: [
      'logout_token_invalid',
      'logout_token_replayed',
      'not_found',
      'provider_mismatch',
      'provider_unavailable',
      'view_behind',
      'busy',
      'rate_limited',
    ],
    answer: Nothing,
    run: async (call) => {
      await endAtProvider(service, call, methodOf(call.params))
      return { body: {} }
    },
  })
