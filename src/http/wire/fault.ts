import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

declare module 'node:http' {
  interface IncomingMessage {
    /** The request as its route receives it, for the log line of a fault. */
    routed?: FastifyRequest
  }
}

/**
 * Runs a part of an answer. An exception in it becomes the `error` event of the response, also in a callback, where it
 * would otherwise end the process.
 */
export const attempt = (response: ServerResponse, work: () => void): void => {
  try {
    work()
  } catch (error) {
    response.emit('error', error)
  }
}

/** Answers with an error. An error of an answer that has begun, or that cannot be sent, ends this answer. */
export const sendError = (reply: FastifyReply, error: unknown): void =>
  attempt(reply.raw, () => {
    if (reply.sent) throw error
    reply.send(error)
  })

/**
 * Handles requests so that a fault of one answer ends this answer alone: at the first `error` event of a response,
 * `log` is called and the connection is cut. Only answers to HTTP/1.1 are chunked (RFC 9112 §6.1).
 */
export const contained =
  (handle: RequestListener, log: (request: IncomingMessage, error: unknown) => void): RequestListener =>
  (request, response) => {
    let isLogged = false
    response.on('error', (error) => {
      if (!isLogged) log(request, error)
      isLogged = true
      response.destroy()
    })
    response.useChunkedEncodingByDefault &&= request.httpVersion === '1.1'
    try {
      handle(request, response)
    } catch (error) {
      response.emit('error', error)
    }
  }
