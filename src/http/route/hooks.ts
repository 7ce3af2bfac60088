import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Raw } from '../../contract/readers/value.ts'
import type { Refusal } from '../../errors.ts'

/** Steps 3 to 6 of api.md §1.3, synchronous: sets `request.caller`, or passes a Refusal to `done`. */
export type Authorize = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/**
 * Step 8 of api.md §1.3: refuses a token without the right for the values in body and query. Runs only for requests
 * that `authorize` left undecided.
 */
export type AuthorizeRest = (request: FastifyRequest, body: Raw) => Refusal | undefined | Promise<Refusal | undefined>

/**
 * Called for every sent answer (for a stream: at its end), with the refusal if there is one. A hook of the framework
 * would add two listeners to each request.
 */
export type Answered = (request: FastifyRequest, reply: FastifyReply, refusal?: Refusal) => void
