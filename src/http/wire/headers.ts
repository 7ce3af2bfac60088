import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

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

/** True if `Accept` contains a media type. */
export const takes = ({ accept = '' }: IncomingHttpHeaders, type: string): boolean =>
  accept.toLowerCase().includes(type)

/** Adds request headers to `Vary`. */
export const vary = (reply: FastifyReply, names: string): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? names : `${String(others)}, ${names}`)
}
