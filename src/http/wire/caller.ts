import type { FastifyRequest } from 'fastify'
import type { Reach } from '../../access/reach.ts'
import type { Taker } from '../../byte-budget.ts'
import type { Actor } from '../../events/meta.ts'
import { addressKey } from './client-address.ts'

/** Who calls, as the access check found it. */
export interface Caller {
  readonly actor: Actor
  /** What the token may do; absent where nobody known calls. */
  readonly reach?: Reach
  /** The token may be published, so that anybody may come with it. */
  readonly published?: boolean
  readonly via: 'bearer' | 'cookie' | 'none'
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** Where the request came from, as far as forwarded headers are trusted; `unknown` when the connection was reset before it was looked at. */
    address: string
  }
}

/** For whom a request takes of what all share: its credential, of a published token each address by itself, without one the address. */
export const takerOf = ({ caller: { actor, published = false }, address }: FastifyRequest): Taker => {
  const holder = actor.id ?? addressKey(address)
  return published ? { holder: `${holder} ${addressKey(address)}`, published } : { holder, published }
}
