import type { FastifyReply } from 'fastify'

/** Adds to the request headers that an answer depends on, for caches. */
export const vary = (reply: FastifyReply, names: string): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? names : `${String(others)}, ${names}`)
}
