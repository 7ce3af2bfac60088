import type { Writable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { timeSlicer } from '../../event-loop.ts'

/** Bytes of an answer that are made as the client takes them. */
export type Chunks = Iterable<Buffer> | AsyncIterable<Buffer>

/** Callbacks of a stream: `ended` runs once, whatever ended it; `failed` gets the error of a source that failed after the head was sent. */
export type StreamTold = {
  readonly ended: (request: FastifyRequest, reply: FastifyReply) => void
  readonly failed: (request: FastifyRequest, error: unknown) => void
}

const iteratorOf = (chunks: Chunks): Iterator<Buffer> | AsyncIterator<Buffer> =>
  Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]()

/**
 * Sends chunks, never more than the client takes. `begin` sends the head and gives what takes the bytes; it is called once the first chunk is
 * there, so a source that fails before is answered like any failure. One that fails later cuts the connection. A client that leaves ends the source.
 */
export const sendStream = (
  request: FastifyRequest,
  reply: FastifyReply,
  chunks: Chunks,
  begin: () => Writable,
  { ended, failed }: StreamTold,
): void => {
  const { raw: response } = reply
  const { socket } = request.raw
  const source = iteratorOf(chunks)
  let out: Writable | undefined
  let over = false
  let exhausted = false

  const fallSilent = (): void => {
    over = true
    response.off('close', onClose)
    socket.off('close', onClose)
  }
  const endSource = async (): Promise<void> => void (await source.return?.())
  const onClose = (): void => {
    if (over) return
    fallSilent()
    if (!exhausted) endSource().catch((error: unknown) => failed(request, error))
    ended(request, reply)
  }

  const pump = async (): Promise<void> => {
    const pause = timeSlicer()
    for (;;) {
      const { done, value } = await source.next()
      if (over) return
      out ??= begin()
      if (done) {
        exhausted = true
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
    if (over || out) failed(request, error)
    if (out) response.destroy()
    else if (!over) {
      fallSilent()
      reply.send(error)
    }
  }

  if (socket.destroyed) return onClose()
  response.on('close', onClose)
  socket.on('close', onClose)
  pump().catch(onFailure)
}
