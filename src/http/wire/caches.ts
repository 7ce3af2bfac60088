import type { FastifyReply } from 'fastify'
import type { Statement } from '../route/statements.ts'

/** Adds to the request headers that an answer depends on, for caches. */
export const vary = (reply: FastifyReply, names: string): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? names : `${String(others)}, ${names}`)
}

/** Sets what the answers of a route tell caches: to keep nothing, or that another credential may be answered otherwise. */
export const toldCaches = ({
  method,
  cache,
  access,
}: Pick<Statement, 'cache' | 'access'> & { readonly method: string }): ((reply: FastifyReply) => void) => {
  if (cache === 'no-store') return (reply) => void reply.header('cache-control', 'no-store')
  if (method === 'GET' && access.credential !== 'public') return (reply) => vary(reply, 'authorization, cookie')
  return () => undefined
}
