import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Origins that may call from a browser: exact ones, or `*` for all. */
export type CorsSettings = {
  readonly origins: readonly string[]
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
  const refused: FastifyCorsOptions = { ...fixed, origin: false }
  const anybody: FastifyCorsOptions = { ...fixed, origin: '*' }

  const optionsFor = ({ method, headers: { origin, ...sent } }: FastifyRequest): FastifyCorsOptions => {
    if (origin === undefined || (method === 'OPTIONS' && sent['access-control-request-method'] === undefined))
      return refused
    if (origin !== '*' && exact.has(origin)) return { ...fixed, origin, credentials: true }
    return exact.has('*') ? anybody : refused
  }
  await app.register(
    cors,
    () => (request: FastifyRequest, callback: (error: Error | null, options?: FastifyCorsOptions) => void) => {
      callback(null, optionsFor(request))
    },
  )
}
