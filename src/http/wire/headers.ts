import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

/** True if the text at this place of a list is an entry of it: bare, quoted or weak. */
const isEntry = (list: string, start: number, end: number): boolean => {
  let [from, to] = [start, end]
  if (list[from - 1] === '"' && list[to] === '"') [from, to] = [from - 1, to + 1]
  if (from >= 2 && list.startsWith('W/', from - 2)) from -= 2
  while (from > 0 && BLANK.test(list[from - 1]!)) from--
  while (to < list.length && BLANK.test(list[to]!)) to++
  return (from === 0 || list[from - 1] === ',') && (to === list.length || list[to] === ',')
}
const BLANK = /\s/

/**
 * True if an `If-None-Match` list contains the tag (quoted, weak or bare), or is `*`. Malformed text contains no tag.
 * The list may have a megabyte.
 */
export const tagged = (list: string, tag: string): boolean => {
  if (list.length < 16 && list.trim() === '*') return true
  for (let at = list.lastIndexOf(tag); at >= 0; at = at === 0 ? -1 : list.lastIndexOf(tag, at - 1))
    if (isEntry(list, at, at + tag.length)) return true
  return false
}

/** True if `Accept` contains a media type. */
export const takes = ({ accept = '' }: IncomingHttpHeaders, type: string): boolean =>
  accept.toLowerCase().includes(type)

/** Adds request headers to `Vary`. */
export const vary = (reply: FastifyReply, names: string): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? names : `${String(others)}, ${names}`)
}
