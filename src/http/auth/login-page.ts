import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../errors.ts'
import type { LoginKind } from '../../events/login.ts'
import type { Service } from '../service.ts'
import { takes } from '../wire/headers.ts'
import { attemptTurnedAway } from './login-throttle.ts'

/** Whether the client of a callback is a browser, and there is a page to send it to. */
export const isPerson = ({ settings }: Service, { headers }: FastifyRequest): boolean =>
  settings.ui.enabled && takes(headers, 'text/html')

/** What the login page is told: the provider's own word where there is one, and one word for all that is not there. */
const shownOf = ({ reason, metadata }: Refusal): string => {
  if (reason === 'provider_error') return metadata['error'] ?? reason
  return reason === 'route_not_found' ? 'not_found' : reason
}

const returnTo = ({ cookies, logins }: Service, request: FastifyRequest): string | undefined => {
  const [held, ...others] = cookies.states(request)
  return held === undefined || others.length > 0 ? undefined : logins.states.open(held)?.returnTo
}

/**
 * Where a person reads why a login failed, whatever failed (api.md §5.5). A way that is not there has nobody else who takes note of it.
 */
export const loginPage =
  (service: Service, method: LoginKind) =>
  (refusal: Refusal, request: FastifyRequest): string | undefined => {
    if (!isPerson(service, request)) return undefined
    if (refusal.status === 404) attemptTurnedAway(service, request, { method }, refusal)
    const path = returnTo(service, request)
    const query = { error: shownOf(refusal), ref: request.id, ...(path !== undefined && { return_to: path }) }
    return `${service.cookies.basePath(request)}/login?${new URLSearchParams(query).toString()}`
  }
