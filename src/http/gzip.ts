import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { constants, createGzip, gzip } from 'node:zlib'

const offer = /(?:^|,)\s*(?:(?:x-)?gzip|\*)\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
/** The fastest level: answers are made anew for each request, and it saves most of what there is to save. */
const level = { level: constants.Z_BEST_SPEED }

/** Whether the client takes gzip: named, or covered by `*`, and not with a weight of zero. */
export const takesGzip = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => {
  const accepted = headers['accept-encoding']
  const named = typeof accepted === 'string' ? offer.exec(accepted) : null
  return named !== null && Number(named[1] ?? 1) > 0
}

/** Sends a body in gzip. */
export const sendGzip = (reply: FastifyReply, body: string | Buffer | Readable): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? 'accept-encoding' : `${String(others)}, accept-encoding`)
  reply.header('content-encoding', 'gzip')
  if (typeof body === 'string' || Buffer.isBuffer(body)) gzip(body, level, (error, bytes) => void reply.send(error ?? bytes))
  else reply.send(body.pipe(createGzip(level)))
}
