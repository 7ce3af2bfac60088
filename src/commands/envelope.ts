import { createHash, randomUUID } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import { type Written, wireName } from '../events/define.ts'
import type { NewEvent } from '../events/log.ts'
import type { Meta } from '../events/meta.ts'
import type { Sealer } from '../events/personal.ts'

/** Origin of a request (address and user agent): personal data. */
type Origin = Pick<Meta, 'ip' | 'userAgent'>

/**
 * Context of a command: actor, origin and reason. The origin is encrypted with the key of `subject`, once for all
 * commands of a request. Without a subject the origin is not stored.
 */
export type Context = Omit<Meta, 'schema' | 'command' | 'instance' | 'more' | 'writtenAt' | keyof Origin> & {
  readonly origin?: Origin
  /** Id of the command. If a command with this id is repeated, it takes effect only once. */
  readonly commandId?: string
  /** Revisions of the If-Match header, or `*`. */
  readonly ifMatch?: readonly string[] | '*'
  /** With If-Match, a command that changes nothing is refused (DELETE of an absent resource). */
  readonly needsEffect?: boolean
}

/** Context of the commands that the service itself sends. */
export const SYSTEM = { actor: { kind: 'system' } } as const satisfies Context

/** Derives a UUID (version 4 form) from a command id and a name, so that a repeated command creates the same ids. */
export const idFrom = (commandId: string, name: string): string => {
  const bytes = createHash('sha256').update(`${commandId}|${name}`).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Id of the nth event that a command appends to a stream; random if the command has no id. */
export const eventId = (commandId: string | undefined, stream: string, n: number): string =>
  commandId === undefined ? randomUUID() : idFrom(commandId, `${stream}|${n}`)

/** Encrypts an origin for a subject. Caches the encrypted texts while the origin is referenced. */
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

/** Converts decided events to stored form: encrypted personal fields, canonical JSON, ids, time and metadata. */
export const enveloper = (
  sealer: Sealer,
  instance: string,
  now: () => Date,
  ordered: () => Date = () => new Date(0),
) => {
  const sealedOrigin = originSealer(sealer)
  let last = 0
  /**
   * Time of the events of an instance. It never decreases within an instance, and is not before `ordered`. If the clock
   * shows a different time, `writtenAt` contains the time of the clock.
   */
  const time = () => {
    const own = now()
    last = Math.max(last, own.getTime(), ordered().getTime())
    return { at: new Date(last).toISOString(), ...(own.getTime() < last && { writtenAt: own.toISOString() }) }
  }

  const sealed = async ({ event, shape, data: written }: Written): Promise<object> => {
    const data: Record<string, unknown> = { ...written }
    for (const [field, subject] of shape.sealed) {
      const text = data[field]
      if (typeof text !== 'string') continue
      const owner = data[subject]
      if (typeof owner !== 'string')
        throw new Error(`${event.type}.${field} is personal data, but the event does not name the person`)
      data[field] = await sealer.seal(owner, text)
    }
    return data
  }

  return async (stream: string, events: readonly Written[], command: string, context: Context): Promise<NewEvent[]> => {
    const { actor, requestId, correlationId = requestId, causationId, traceId, route, reason, subject } = context
    const origin = await sealedOrigin(context)
    const datas: string[] = []
    for (const event of events) datas.push(canonical(await sealed(event)))
    const { at, writtenAt } = time()
    const related = { requestId, correlationId, causationId, traceId }
    const common = { actor, ...related, route, reason, subject, ...origin, writtenAt }
    return events.map(({ event: { type }, shape: { version } }, n) => {
      const more = events.length - 1 - n || undefined
      const meta: { [K in keyof Meta]: Meta[K] | undefined } = { schema: version, command, instance, more, ...common }
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
