import type { Context } from '../../commands/envelope.ts'
import type { Stored } from '../../events/log.ts'
import type { Call } from '../route/route.ts'
import type { CommandServices } from '../services/commands.ts'

/**
 * The context of the commands that a request sends. Address and user agent are sealed with the key of the caller, or of
 * the day where the caller is unknown.
 */
export const contextOf = (
  { request, caller, requestId, route }: Call<unknown, unknown>,
  service: CommandServices,
): Context => {
  const userAgent = request.headers['user-agent']
  return {
    actor: caller.actor,
    requestId,
    route,
    subject:
      caller.actor.id === undefined
        ? `network-${service.now().toISOString().slice(0, 10)}`
        : `token-${caller.actor.id}`,
    origin: { ip: request.address, ...(userAgent !== undefined && { userAgent: userAgent.slice(0, 512) }) },
    ...request.directives,
  }
}

/** Tells the position of events (api.md §4, Event-Position). */
export const eventPosition = (position: bigint): Readonly<Record<string, string>> => ({
  'event-position': String(position),
})

/** Tells the position of what a command did: the log's own where it changed nothing. */
export const positionOf = async (
  { log }: Pick<CommandServices, 'log'>,
  stored: readonly Stored[],
): Promise<Readonly<Record<string, string>>> => eventPosition(stored.at(-1)?.position ?? (await log.head()))

/** Makes the events of a command visible to every later read here, and tells their position. */
export const applyEvents = async (
  service: CommandServices,
  stored: readonly Stored[],
): Promise<{ readonly headers: Readonly<Record<string, string>> }> => {
  await service.applied(stored)
  return { headers: await positionOf(service, stored) }
}
