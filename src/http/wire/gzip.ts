import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attempt, sendError } from './fault.ts'
import { vary } from './headers.ts'

const offer = /(?:^|,)\s*(?:(?:x-)?gzip|\*)\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
const offerOfBrotli = /(?:^|,)\s*br\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
/** Fastest level, because most answers are compressed for each request; higher levels save little more. */
const level = { level: constants.Z_BEST_SPEED }

const takes = ({ headers }: Pick<FastifyRequest, 'headers'>, coding: RegExp): boolean => {
  const accepted = headers['accept-encoding']
  const named = typeof accepted === 'string' ? coding.exec(accepted) : null
  return named !== null && Number(named[1] ?? 1) > 0
}

/** True if the client accepts gzip, by name or by `*`, with a nonzero weight. */
export const takesGzip = (request: Pick<FastifyRequest, 'headers'>): boolean => takes(request, offer)

/** Bytes of a file, and of its precompressed variants. */
export type Packed = { readonly plain: Buffer; readonly br: Buffer | undefined; readonly gzip: Buffer | undefined }

/** Sends the smallest variant of a file that the client accepts. */
export const sendPacked = (request: FastifyRequest, reply: FastifyReply, { plain, br, gzip }: Packed): void => {
  reply.header('vary', 'accept-encoding')
  const coding = br && takes(request, offerOfBrotli) ? 'br' : gzip && takesGzip(request) ? 'gzip' : undefined
  if (coding) reply.header('content-encoding', coding)
  void reply.send({ br, gzip, plain }[coding ?? 'plain'])
}

const zip = promisify(gzip)

/** A text that is sent repeatedly: its bytes, and its gzip, compressed on first use. */
export type Kept = { readonly plain: Buffer; readonly zipped: () => Promise<Buffer> }

export const kept = (text: string): Kept => {
  const plain = Buffer.from(text)
  let zipped: Promise<Buffer> | undefined
  return { plain, zipped: () => (zipped ??= zip(plain)) }
}

/** Compresses an answer with gzip at the fastest level. */
export const zippedFast = (body: string | Buffer): Promise<Buffer> => zip(body, level)

/** Sets the headers of a gzip body. */
export const nameGzip = (reply: FastifyReply): void => {
  vary(reply, 'accept-encoding')
  reply.header('content-encoding', 'gzip')
}

/** Sends a gzip body. */
export const sendGzip = (reply: FastifyReply, body: Promise<Buffer>): void => {
  nameGzip(reply)
  body.then((bytes) => reply.send(bytes)).catch((error: unknown) => sendError(reply, error))
}

/** Returns a stream that compresses bytes with gzip and writes them to a response. A fault of either ends the answer. */
export const gzipInto = (response: ServerResponse): Writable => {
  const packer = createGzip(level)
  const onData = (bytes: Buffer): void => {
    if (response.write(bytes)) return
    packer.pause()
    response.once('drain', () => packer.resume())
  }
  return packer
    .on('data', (bytes: Buffer) => attempt(response, () => onData(bytes)))
    .on('end', () => attempt(response, () => response.end()))
    .on('error', (error) => response.emit('error', error))
}
