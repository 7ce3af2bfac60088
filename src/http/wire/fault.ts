import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

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
