import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { otherWords } from './family-headers.ts'

/** Origins that may call from a browser: exact ones, or `*` for all. */
export type CorsSettings = {
  readonly origins: readonly string[]
  /** Headers that a request may have. One of the family may have any word in place of ours. */
  readonly headers: readonly string[]
  /** Headers of answers that scripts may read, beside those of every deployment. */
  readonly exposed?: readonly string[]
}

/** Cross-origin access (api.md §11): credentials for exact origins only, never with `*`. */
export const allowOrigins = async (
  app: FastifyInstance,
  { origins, headers, exposed = [] }: CorsSettings,
): Promise<void> => {
  const exact = new Set(origins)
  const fixed = {
    methods: ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'],
    allowedHeaders: [...headers],
    exposedHeaders: [
      'ETag',
      'Event-Position',
      'Idempotency-Replayed',
      'x-request-id',
      'Retry-After',
      'As-Of-Position',
      'As-Of-Time',
      ...exposed,
    ],
    maxAge: 300,
    strictPreflight: false,
  }
  /** What every answer says, with the headers that stand for allowed ones under another word. */
  const saying = (asked: string | undefined) => ({
    ...fixed,
    allowedHeaders: [...headers, ...otherWords(asked, headers)],
  })
  const refused: FastifyCorsOptions = { ...fixed, origin: false }

  const optionsFor = ({ method, headers: { origin, ...sent } }: FastifyRequest): FastifyCorsOptions => {
    if (origin === undefined || (method === 'OPTIONS' && sent['access-control-request-method'] === undefined))
      return refused
    const said = saying(sent['access-control-request-headers'])
    if (origin !== '*' && exact.has(origin)) return { ...said, origin, credentials: true }
    return exact.has('*') ? { ...said, origin: '*' } : refused
  }
  await app.register(
    cors,
    () => (request: FastifyRequest, callback: (error: Error | null, options?: FastifyCorsOptions) => void) => {
      callback(null, optionsFor(request))
    },
  )
}
