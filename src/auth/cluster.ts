import { readFile } from 'node:fs/promises'
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Clock } from '../clock.ts'
import { Refusal, refuse } from '../errors.ts'
import { safeCause } from './safe-cause.ts'

const TIMEOUT_MS = 2000
const LIMIT = 1_048_576

/** Refuses because the cluster is unavailable, with a cause for the operator that holds no foreign text. */
export const refuseUnavailable = (cause: Error): never =>
  refuse('orchestrator_unavailable', undefined, { headers: { 'retry-after': '1' }, cause })

/** The same for whatever went wrong, without its foreign text. A refusal passes through unchanged. */
export const clusterUnavailable = (cause: unknown): never => {
  if (cause instanceof Refusal) throw cause
  return refuseUnavailable(safeCause(cause))
}

export type ClusterSettings = {
  readonly clock: Clock
  readonly discoveryUrl: string
  /** Trusted for https in the place of the system's own list. */
  readonly caPath?: string
  /** File with the bearer token that we show to the cluster. */
  readonly tokenPath: string
}

export type Call = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Whether we show who we are: always, only when the token file is there, or not at all. */
  readonly bearer: 'needed' | 'if there' | 'none'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Calls to the cluster's API server: 2 s each, no redirects, at most 1 MiB of answer. The files are read for each call,
 * so a rotated token or CA counts at once. Failure: `orchestrator_unavailable`.
 */
export const cluster = ({ clock, caPath, tokenPath }: ClusterSettings) => {
  const bearerOf = async (bearer: Call['bearer']): Promise<Record<string, string>> => {
    if (bearer === 'none') return {}
    try {
      return { authorization: `Bearer ${(await readFile(tokenPath, 'utf8')).trim()}` }
    } catch (error) {
      if (bearer === 'if there' && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
      throw error
    }
  }

  return async ({ url, method, bearer, headers, body, signal }: Call): Promise<Answer> => {
    try {
      const secure = url.startsWith('https:')
      const limit = clock.timeout(TIMEOUT_MS)
      return await send(
        url,
        {
          method,
          headers: {
            ...headers,
            ...(await bearerOf(bearer)),
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
          },
          signal: signal ? AbortSignal.any([signal, limit]) : limit,
          // A kept connection may be closed by the server just as it is used again, and a POST is not repeated.
          agent: false,
          ...(secure && caPath !== undefined ? { ca: await readFile(caPath) } : {}),
        },
        body,
      )
    } catch (error) {
      return clusterUnavailable(error)
    }
  }
}

export type Cluster = ReturnType<typeof cluster>

const send = (url: string, options: RequestOptions, body: string | undefined): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = (url.startsWith('https:') ? httpsRequest : httpRequest)(url, options, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size > LIMIT) sent.destroy(new Error('too large'))
      })
      response.on('error', reject)
      response.on('end', () => {
        const headers = Object.fromEntries(
          Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
        )
        resolve({ status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks).toString() })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
