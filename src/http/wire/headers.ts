import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { positionOf } from '../../contract/readers/moment.ts'
import { lengthOf } from '../../contract/readers/value.ts'
import { refuse } from '../../errors.ts'

/** Text of a header that is allowed once; undefined when absent. Node joins repeated values with commas. */
const one = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

const wrong = (name: string, description: string): never =>
  refuse('invalid_header', `invalid header ${name}: ${description}`)

/** `Idempotency-Key`: 1 to 255 printable ASCII characters; else 400 `invalid_header`. */
export const idempotencyKey = (headers: IncomingHttpHeaders): string | undefined => {
  const key = one(headers, 'idempotency-key')
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key
  return wrong('Idempotency-Key', 'must be 1 to 255 printable ASCII characters')
}

const tag = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/

const bare = /^(?!W\/)[\w.~+/=:-]+$/

/**
 * Opaque tags of a list such as `"7", W/"8", 9`, without quotes and `W/`. Undefined if the text is not a list of tags.
 */
const tagsOf = (text: string): string[] | undefined => {
  const tags: string[] = []
  for (const item of text.split(',').map((item) => item.trim())) {
    if (item === '') continue
    const quoted = tag.exec(item)
    if (!quoted && !bare.test(item)) return undefined
    tags.push(quoted?.[1] ?? item)
  }
  return tags.length > 0 ? tags : undefined
}

/** `If-Match`: the given revisions, or `*`; malformed: 400 `invalid_header`. */
export const ifMatch = (headers: IncomingHttpHeaders): readonly string[] | '*' | undefined => {
  const text = one(headers, 'if-match')?.trim()
  if (text === undefined || text === '*') return text
  return tagsOf(text) ?? wrong('If-Match', 'must be "*" or a list of entity tags')
}

/**
 * True if an `If-None-Match` list contains the tag (quoted, weak or bare), or is `*`. Malformed text contains no tag.
 */
export const tagged = (list: string, tag: string): boolean =>
  list.trim() === '*' ||
  list.split(',').some(
    (item) =>
      item
        .trim()
        .replace(/^W\//, '')
        .replace(/^"(.*)"$/, '$1') === tag,
  )

/**
 * `After-Position`: the position that the read model must have reached. Refuses anything but a decimal unsigned 64-bit
 * number with 400 `invalid_header`.
 */
export const afterPosition = (headers: IncomingHttpHeaders): bigint | undefined => {
  const text = one(headers, 'after-position')
  if (text === undefined) return undefined
  return positionOf(text) ?? wrong('After-Position', 'must be a decimal number')
}

/** True if `Accept` contains a media type. */
export const takes = ({ accept = '' }: IncomingHttpHeaders, type: string): boolean =>
  accept.toLowerCase().includes(type)

/**
 * `Last-Event-ID` of an event stream: index of the last event received, -1 for none; undefined if absent. Refuses
 * anything else with 400 `invalid_header`.
 */
export const lastEventId = (headers: IncomingHttpHeaders): number | undefined => {
  const text = one(headers, 'last-event-id')
  if (text === undefined || text === '') return undefined
  return /^(?:-1|0|[1-9]\d{0,14})$/.test(text) ? Number(text) : noSuchEvent()
}

/** Refuses a `Last-Event-ID` that is no index of the log. */
export const noSuchEvent = (): never => wrong('Last-Event-ID', 'must be an index of the log')

/** Refuses a position later than the newest one: 400 `invalid_header`. */
export const beyondHead = (): never => wrong('After-Position', 'must not be later than the newest position')

const REASON_MAX = 500

/**
 * `Event-Reason`: the caller's reason for a change, in UTF-8, stored with the events. Refuses more than 500 characters
 * and control characters with 400 `invalid_header`.
 */
export const eventReason = (headers: IncomingHttpHeaders): string | undefined => {
  const latin1 = one(headers, 'event-reason')?.trim()
  if (latin1 === undefined || latin1 === '') return undefined
  const text = Buffer.from(latin1, 'latin1').toString('utf8')
  if (/[\p{Cc}\ufffd]/u.test(text)) wrong('Event-Reason', 'must be UTF-8 text without control characters')
  return lengthOf(text) <= REASON_MAX ? text : wrong('Event-Reason', `must be at most ${REASON_MAX} characters`)
}

/** Adds request headers to `Vary`. */
export const vary = (reply: FastifyReply, names: string): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? names : `${String(others)}, ${names}`)
}
