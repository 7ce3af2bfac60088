import type { FastifyReply, FastifyRequest } from 'fastify'
import { constants, gzip } from 'node:zlib'

const offer = /(?:^|,)\s*(?:(?:x-)?gzip|\*)\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i

/** Whether the client takes gzip: named, or covered by `*`, and not with a weight of zero. */
export const takesGzip = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => {
  const accepted = headers['accept-encoding']
  const named = typeof accepted === 'string' ? offer.exec(accepted) : null
  return named !== null && Number(named[1] ?? 1) > 0
}

/** Sends a body in gzip, at the fastest level: answers are made anew for each request, and it saves most of what there is to save. */
export const sendGzip = (reply: FastifyReply, body: string | Buffer): void => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? 'accept-encoding' : `${String(others)}, accept-encoding`)
  reply.header('content-encoding', 'gzip')
  gzip(body, { level: constants.Z_BEST_SPEED }, (error, bytes) => void reply.send(error ?? bytes))
}
