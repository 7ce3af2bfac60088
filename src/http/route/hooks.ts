import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Raw } from '../../contract/readers/value.ts'
import type { Refusal } from '../../errors.ts'

/** Step 3 to 6 of api.md §1.3, synchronous: sets `request.caller`, or ends with a Refusal in `done`. */
export type Authorize = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Step 8 of api.md §1.3: the refusal of a token that may not do what body and query say. Asked of requests that `authorize` left undecided. */
export type AuthorizeRest = (request: FastifyRequest, body: Raw) => Refusal | undefined | Promise<Refusal | undefined>

/**
 * Called with every answer as it is sent (a stream: at its end), and with the refusal if it is one. A hook of the
 * framework would cost each request two listeners.
 */
export type Answered = (request: FastifyRequest, reply: FastifyReply, refusal?: Refusal) => void
