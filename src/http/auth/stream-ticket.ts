import type { FastifyRequest } from 'fastify'
import type { Query } from '../../contract/readers/input.ts'
import type { AuthServices, Looked } from '../services/auth.ts'
import { parametersOf } from '../wire/path.ts'

const textOf = (asked: Query, name: string): string | undefined => asked.find((one) => one.name === name)?.text

/** Namespace that a stream is about, according to its query. */
export const namespaceOfStream = (asked: Query): string => textOf(asked, 'namespace') || 'default'

/** The ticket in the query of a request, unless it is empty. */
export const ticketIn = (request: FastifyRequest): string | undefined =>
  textOf(parametersOf(request), 'ticket') || undefined

/** Finds the token of a ticket. The result has no entry unless the ticket is valid for the namespace of the request. */
export const ticketLookup =
  ({ tickets, verifier }: AuthServices) =>
  async (request: FastifyRequest, ticket: string): Promise<Looked> => {
    const id = tickets.read(ticket, namespaceOfStream(parametersOf(request)))
    const entry = id === undefined ? undefined : await verifier.byId(id)
    return { isOurs: id !== undefined, ...(entry && { entry }) }
  }
