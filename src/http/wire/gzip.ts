import { pipeline, type Writable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { vary } from './caches.ts'

const offer = /(?:^|,)\s*(?:(?:x-)?gzip|\*)\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
const offerOfBrotli = /(?:^|,)\s*br\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
/** The fastest level: answers are made anew for each request, and it saves most of what there is to save. */
const level = { level: constants.Z_BEST_SPEED }

const takes = ({ headers }: Pick<FastifyRequest, 'headers'>, coding: RegExp): boolean => {
  const accepted = headers['accept-encoding']
  const named = typeof accepted === 'string' ? coding.exec(accepted) : null
  return named !== null && Number(named[1] ?? 1) > 0
}

/** Whether the client takes gzip: named, or covered by `*`, and not with a weight of zero. */
export const takesGzip = (request: Pick<FastifyRequest, 'headers'>): boolean => takes(request, offer)

/** The bytes of a file, and of its forms that were compressed beforehand. */
export type Packed = { readonly plain: Buffer; readonly br: Buffer | undefined; readonly gzip: Buffer | undefined }

/** Sends a file in the smallest of its forms that the client takes. */
export const sendPacked = (request: FastifyRequest, reply: FastifyReply, { plain, br, gzip }: Packed): void => {
  reply.header('vary', 'accept-encoding')
  const coding = br && takes(request, offerOfBrotli) ? 'br' : gzip && takesGzip(request) ? 'gzip' : undefined
  if (coding) reply.header('content-encoding', coding)
  void reply.send({ br, gzip, plain }[coding ?? 'plain'])
}

const zip = promisify(gzip)

/** A text that is asked for again and again: its bytes, and those of its gzip once somebody takes it. */
export type Kept = { readonly plain: Buffer; readonly zipped: () => Promise<Buffer> }

export const kept = (text: string): Kept => {
  const plain = Buffer.from(text)
  let zipped: Promise<Buffer> | undefined
  return { plain, zipped: () => (zipped ??= zip(plain)) }
}

/** The gzip of an answer. */
export const zippedFast = (body: string | Buffer): Promise<Buffer> => zip(body, level)

/** Says that the body is in gzip. */
export const nameGzip = (reply: FastifyReply): void => {
  vary(reply, 'accept-encoding')
  reply.header('content-encoding', 'gzip')
}

/** Sends a body that is packed in gzip. */
export const sendGzip = (reply: FastifyReply, body: Promise<Buffer>): void => {
  nameGzip(reply)
  body.then((bytes) => reply.send(bytes)).catch((error: unknown) => reply.send(error))
}

/** What packs the bytes written to it in gzip, and passes them on. */
export const gzipInto = (out: Writable): Writable => {
  const packer = createGzip(level)
  // Whoever waits for the end of `out` hears of what ends the two.
  pipeline(packer, out, () => undefined)
  return packer
}
