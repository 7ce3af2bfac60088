import { CLIENT_TOKEN } from '../../base/token-form.ts'
import { revisionMoved } from '../../commands/decider.ts'
import type { Context } from '../../commands/envelope.ts'
import type { Stored } from '../../events/log.ts'
import type { Call } from '../route/route.ts'
import type { CommandServices } from '../services/commands.ts'

/**
 * Context of the commands of a request. Address and user agent are encrypted with the key of the caller, or of the day
 * for an anonymous caller. A user agent that contains a client token is left out.
 */
export const contextOf = (
  { request, caller, requestId, route }: Call<unknown, unknown>,
  service: CommandServices,
): Context => {
  const userAgent = request.headers['user-agent']
  return {
    actor: caller.actor,
    requestId,
    ...(request.raw.traceId !== undefined && { traceId: request.raw.traceId }),
    route,
    subject:
      caller.actor.id === undefined
        ? `network-${service.now().toISOString().slice(0, 10)}`
        : `token-${caller.actor.id}`,
    origin: {
      ip: request.address,
      ...(userAgent !== undefined && !CLIENT_TOKEN.test(userAgent) && { userAgent: userAgent.slice(0, 512) }),
    },
    ...request.directives,
  }
}

/** Response header with the position of events (api.md §4, Event-Position). */
export const eventPosition = (position: bigint): Readonly<Record<string, string>> => ({
  'event-position': String(position),
})

/** Position of the last event of a command; if the command changed nothing, the end of the log. */
export const positionOf = async (
  { log }: Pick<CommandServices, 'log'>,
  stored: readonly Stored[],
): Promise<Readonly<Record<string, string>>> => eventPosition(stored.at(-1)?.position ?? (await log.head()))

/**
 * Makes the events of a command visible to later reads on this instance. Returns their position, and a lookup of the
 * rows after the command.
 */
export const applyEvents = async (service: CommandServices, stored: readonly Stored[]) => {
  const rows = await service.applied(stored)
  return { rows, headers: await positionOf(service, stored) }
}

/**
 * Refuses a create with If-Match, because no revision can match (api.md §4). `have` is the revision of an existing
 * resource.
 */
export const createsOnly = ({ ifMatch }: Context, have = 0n): void => {
  if (ifMatch !== undefined) revisionMoved(have, ifMatch)
}
