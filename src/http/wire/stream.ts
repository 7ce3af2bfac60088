import type { Writable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { timeSlicer } from '../../base/event-loop.ts'
import { attempt, sendError } from './fault.ts'

/** Bytes of an answer, created as the client reads them. */
export type Chunks = Iterable<Buffer> | AsyncIterable<Buffer>

/** Callbacks of a stream. `ended` runs exactly once, however the stream ends. */
export type StreamTold = {
  readonly ended: (request: FastifyRequest, reply: FastifyReply) => void
  /** Called after the last chunk, before the answer ends. */
  readonly end?: (() => void) | undefined
}

const iteratorOf = (chunks: Chunks): Iterator<Buffer> | AsyncIterator<Buffer> =>
  Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]()

/**
 * Sends chunks with back-pressure; a client that disconnects closes the source. `begin` sends the headers and returns
 * the target stream. `begin` runs after the first chunk exists, so an earlier failure gets an error answer; a later
 * failure is the `error` event of the response, which cuts the connection.
 */
export const sendStream = (
  request: FastifyRequest,
  reply: FastifyReply,
  chunks: Chunks,
  begin: () => Writable,
  { ended, end }: StreamTold,
): void => {
  const { raw: response } = reply
  const { socket } = request.raw
  const source = iteratorOf(chunks)
  let out: Writable | undefined
  let over = false
  let exhausted = false

  const removeListeners = (): void => {
    over = true
    response.off('close', onClose)
    socket.off('close', onClose)
  }
  const fail = (error: unknown): void => void response.emit('error', error)
  const endSource = async (): Promise<void> => void (await source.return?.())
  const onClose = (): void => {
    if (over) return
    removeListeners()
    if (out !== response) out?.destroy()
    if (!exhausted) endSource().catch(fail)
    attempt(response, () => ended(request, reply))
  }

  const pump = async (): Promise<void> => {
    const pause = timeSlicer()
    for (;;) {
      const { done, value } = await source.next()
      if (over) return
      out ??= begin()
      if (done) {
        exhausted = true
        end?.()
        out.end()
        return
      }
      if (!out.write(value)) await new Promise<void>((room) => out!.once('drain', room))
      const paused = pause()
      if (paused) await paused
      if (over) return
    }
  }
  const onFailure = (error: unknown): void => {
    exhausted = true
    if (over || reply.sent) return fail(error)
    removeListeners()
    sendError(reply, error)
  }

  if (socket.destroyed) return onClose()
  response.on('close', onClose)
  socket.on('close', onClose)
  pump().catch(onFailure)
}
