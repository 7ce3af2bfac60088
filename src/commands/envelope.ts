import { createHash, randomUUID } from 'node:crypto'
import { canonical } from '../events/canonical.ts'
import { sealedFields, type Written, wireName } from '../events/define.ts'
import type { NewEvent } from '../events/log.ts'
import type { Meta } from '../events/meta.ts'
import type { Sealer } from '../events/personal.ts'

/** Where a request came from: personal data. */
export type Origin = Pick<Meta, 'ip' | 'userAgent'>

/** Who asks, from where and why. The origin is sealed for `subject`, once for all commands that share it; without a subject it is not kept. */
export type Context = Omit<Meta, 'schema' | 'command' | 'instance' | 'more' | 'writtenAt' | keyof Origin> & {
  readonly origin?: Origin
  /** Names the command: asked again under the same id, it has the one effect it had the first time. */
  readonly commandId?: string
  /** The revisions of an If-Match header, or `*`. */
  readonly ifMatch?: readonly string[] | '*'
  /** With If-Match, a command that finds nothing to do is refused (DELETE of something missing). */
  readonly needsEffect?: boolean
}

/** A UUID (version 4 form) that follows from a command id and a name, so that a repeated command mints the same ids. */
export const idFrom = (commandId: string, name: string): string => {
  const bytes = createHash('sha256').update(`${commandId}|${name}`).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Id of the nth event that a named command appends to a stream; a random one where the command has no name. */
export const eventId = (commandId: string | undefined, stream: string, n: number): string =>
  commandId === undefined ? randomUUID() : idFrom(commandId, `${stream}|${n}`)

/** Seals an origin for a subject, and gives the same sealed texts again for as long as the origin is in use. */
const originSealer = (sealer: Sealer) => {
  const sealed = new WeakMap<Origin, Map<string, Promise<Origin>>>()
  const seal = async (subject: string, { ip, userAgent }: Origin): Promise<Origin> => ({
    ...(ip !== undefined && { ip: await sealer.seal(subject, ip) }),
    ...(userAgent !== undefined && { userAgent: await sealer.seal(subject, userAgent) }),
  })
  return ({ origin, subject }: Context): Promise<Origin> | undefined => {
    if (origin === undefined || subject === undefined) return undefined
    const ofOrigin = sealed.get(origin) ?? new Map<string, Promise<Origin>>()
    sealed.set(origin, ofOrigin)
    const known = ofOrigin.get(subject) ?? seal(subject, origin)
    ofOrigin.set(subject, known)
    known.catch(() => ofOrigin.delete(subject))
    return known
  }
}

/** Puts decided events into the form they are kept in: personal fields sealed, canonical JSON, ids, writer's time and envelope. */
export const enveloper = (
  sealer: Sealer,
  instance: string,
  now: () => Date,
  ordered: () => Date = () => new Date(0),
) => {
  const sealedOrigin = originSealer(sealer)
  let last = 0
  /** Never runs backwards within an instance, nor before what is `ordered` already; where that is not what the clock shows, it says so. */
  const time = () => {
    const own = now()
    last = Math.max(last, own.getTime(), ordered().getTime())
    return { at: new Date(last).toISOString(), ...(own.getTime() < last && { writtenAt: own.toISOString() }) }
  }

  const sealed = async ({ event, shape, data: written }: Written): Promise<object> => {
    const data: Record<string, unknown> = { ...written }
    for (const [field, subject] of sealedFields(shape.schema)) {
      const text = data[field]
      if (typeof text !== 'string') continue
      const owner = data[subject]
      if (typeof owner !== 'string') throw new Error(`${event.type}.${field} is personal and names no subject`)
      data[field] = await sealer.seal(owner, text)
    }
    return data
  }

  return async (stream: string, events: readonly Written[], command: string, context: Context): Promise<NewEvent[]> => {
    const { actor, requestId, correlationId = requestId, causationId, route, reason, subject } = context
    const origin = await sealedOrigin(context)
    const datas: string[] = []
    for (const event of events) datas.push(canonical(await sealed(event)))
    const { at, writtenAt } = time()
    const who = { actor, requestId, correlationId, causationId, route, reason, subject, ...origin, writtenAt }
    return events.map(({ event: { type }, shape: { version } }, n) => {
      const more = events.length - 1 - n || undefined
      const meta: { [K in keyof Meta]: Meta[K] | undefined } = { schema: version, command, instance, more, ...who }
      return {
        id: eventId(context.commandId, stream, n),
        type: wireName(type, version),
        time: at,
        data: datas[n]!,
        meta: canonical(meta),
      }
    })
  }
}
