import type { FastifyReply } from 'fastify'
import type { Statement } from '../route/statements.ts'

/** Adds request headers to `Vary`. */
export const vary = (reply: FastifyReply, names: string): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? names : `${String(others)}, ${names}`)
}

/** Sets the cache headers of a route: `no-store`, or `Vary` by credential for GET routes that use one. */
export const toldCaches = ({
  method,
  cache,
  access,
}: Pick<Statement, 'cache' | 'access'> & { readonly method: string }): ((reply: FastifyReply) => void) => {
  if (cache === 'no-store') return (reply) => void reply.header('cache-control', 'no-store')
  if (method === 'GET' && access.credential !== 'public') return (reply) => vary(reply, 'authorization, cookie')
  return () => undefined
}
