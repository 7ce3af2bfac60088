import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../errors.ts'
import type { LoginKind } from '../../events/login.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { LoginServices } from '../services/logins.ts'
import type { RecordingServices } from '../services/recording.ts'
import { takes } from '../wire/headers.ts'
import { returnToOf } from './held-logins.ts'
import { attemptTurnedAway } from './login-throttle.ts'

/** True for a speculative request of a browser (`Sec-Purpose: prefetch`). */
export const isAhead = ({ headers }: FastifyRequest): boolean =>
  /\bprefetch\b/.test(String(headers['sec-purpose'] ?? headers['purpose'] ?? ''))

/** True if a callback comes from a browser and the web UI is enabled. */
export const isPerson = ({ settings }: InstanceServices, { headers }: FastifyRequest): boolean =>
  settings.ui.enabled && takes(headers, 'text/html')

/** Error code for the login page: the provider's own, if any, and `not_found` for an unknown route. */
const shownOf = ({ reason, metadata }: Refusal): string => {
  if (reason === 'provider_error') return metadata['error'] ?? reason
  return reason === 'route_not_found' ? 'not_found' : reason
}

/**
 * URL of the page that shows the failure of a login, for any cause (api.md §5.5). A 404 for an unknown or disabled
 * method is recorded here, because no other code records it.
 */
export const loginPage =
  (service: InstanceServices & LoginServices & RecordingServices, method: LoginKind) =>
  (refusal: Refusal, request: FastifyRequest): string | undefined => {
    if (!isPerson(service, request) || isAhead(request)) return undefined
    if (refusal.status === 404) attemptTurnedAway(service, request, { method }, refusal)
    const path = returnToOf(service, request)
    const query = { error: shownOf(refusal), ref: request.id, ...(path !== undefined && { return_to: path }) }
    return `${service.cookies.basePath(request)}/login?${new URLSearchParams(query).toString()}`
  }
