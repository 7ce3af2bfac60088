import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { otherWords } from './family-headers.ts'
import { everyAnswer } from './send.ts'

/** Origins that may call from a browser: exact origins, or `*` for all. */
export type CorsSettings = {
  readonly origins: readonly string[]
  /** Allowed request headers. Headers of the family are also allowed under another word. */
  readonly headers: readonly string[]
  /** Response headers that scripts may read, in addition to those of every deployment. */
  readonly exposed?: readonly string[]
}

/** Cross-origin access (api.md §11). Credentials are allowed for exact origins only, never with `*`. */
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
      'History-Range',
      'History-Origin',
      'History-Through',
      'Link',
      ...exposed,
    ],
    maxAge: 300,
    strictPreflight: false,
  }
  /** Common options, plus the requested headers that are an allowed header under another word. */
  const optionsWith = (asked: string | undefined) => ({
    ...fixed,
    allowedHeaders: [...headers, ...otherWords(asked, headers)],
  })
  const refused: FastifyCorsOptions = { ...fixed, origin: false }

  const optionsFor = ({ method, headers: { origin, ...sent } }: FastifyRequest): FastifyCorsOptions => {
    if (origin === undefined || (method === 'OPTIONS' && sent['access-control-request-method'] === undefined))
      return refused
    const options = optionsWith(sent['access-control-request-headers'])
    if (origin !== '*' && exact.has(origin)) return { ...options, origin, credentials: true }
    return exact.has('*') ? { ...options, origin: '*' } : refused
  }
  // This runs before the hook of the plugin, which answers preflights.
  app.addHook('onRequest', (request, reply, done) => {
    everyAnswer(request, reply)
    done()
  })
  await app.register(
    cors,
    () => (request: FastifyRequest, callback: (error: Error | null, options?: FastifyCorsOptions) => void) => {
      callback(null, optionsFor(request))
    },
  )
}
