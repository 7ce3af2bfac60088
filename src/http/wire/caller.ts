import type { Reach } from '../../access/reach.ts'
import type { Actor } from '../../events/meta.ts'

/** Caller of a request, as determined by the access check. */
export interface Caller {
  readonly actor: Actor
  /** Rights of the token; absent for an anonymous caller. */
  readonly reach?: Reach
  /** True for a publishable token, which any client may hold. */
  readonly published?: boolean
  readonly via: 'bearer' | 'cookie' | 'none'
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /**
     * Address of the client, taken from forwarded headers only behind trusted proxies; `unknown` if the connection was
     * reset before the check.
     */
    address: string
  }
}
