import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../errors.ts'
import type { LoginKind } from '../../events/login.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { LoginServices } from '../services/logins.ts'
import type { RecordingServices } from '../services/recording.ts'
import { takes } from '../wire/headers.ts'
import { returnToOf } from './held-logins.ts'
import { attemptTurnedAway } from './login-throttle.ts'

/** Whether a browser asks ahead of time for what somebody may want to see (`Sec-Purpose: prefetch`). */
export const isAhead = ({ headers }: FastifyRequest): boolean =>
  /\bprefetch\b/.test(String(headers['sec-purpose'] ?? headers['purpose'] ?? ''))

/** Whether the client of a callback is a browser, and there is a page to send it to. */
export const isPerson = ({ settings }: InstanceServices, { headers }: FastifyRequest): boolean =>
  settings.ui.enabled && takes(headers, 'text/html')

/** What the login page is told: the provider's own word where there is one, and one word for all that is not there. */
const shownOf = ({ reason, metadata }: Refusal): string => {
  if (reason === 'provider_error') return metadata['error'] ?? reason
  return reason === 'route_not_found' ? 'not_found' : reason
}

/**
 * Where a person reads why a login failed, whatever failed (api.md §5.5). A way that is not there has nobody else who takes note of it.
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
