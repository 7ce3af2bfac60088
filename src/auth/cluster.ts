import { readFile, stat } from 'node:fs/promises'
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import tls from 'node:tls'
import type { Clock } from '../clock.ts'
import { Refusal, refuse } from '../errors.ts'
import { safeCause } from './safe-cause.ts'

const TIMEOUT_MS = 2000
const LIMIT = 1_048_576
/** A connection is kept for the next call, as many as calls run at once. */
const kept = { keepAlive: true, maxFreeSockets: 10 } as const

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
  /** Trusted for https: of the configured address alone, of every other beside the system's own list. */
  readonly caPath?: string
  /** File with the bearer token that we show to the cluster. */
  readonly tokenPath: string
  /** Who asks, for the cluster's own log. */
  readonly userAgent: string
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

/** The content of a file of ours, trimmed. What is wrong with it is told with its name. */
const ownFile = async (what: string, path: string): Promise<string> => {
  let content: string
  try {
    content = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    return refuseUnavailable(new Error(`${what} ${path} cannot be read (${code})`))
  }
  return content === '' ? refuseUnavailable(new Error(`${what} ${path} is empty`)) : content
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    ({ size }) => size > 0,
    () => false,
  )

/** The certificate authorities that the system trusts. */
const systemList = (): readonly string[] =>
  'getCACertificates' in tls ? (tls.getCACertificates as () => readonly string[])() : tls.rootCertificates

/**
 * Calls to the cluster's API server: 2 s each, no redirects, at most 1 MiB of answer. The files are read for each call,
 * so a rotated token or CA counts at once. Connections are kept. Failure: `orchestrator_unavailable`.
 */
export const cluster = ({ clock, discoveryUrl, caPath, tokenPath, userAgent }: ClusterSettings) => {
  const { origin } = new URL(discoveryUrl)
  const agents = { http: new HttpAgent(kept), https: new HttpsAgent(kept) }

  const bearerOf = async (bearer: Call['bearer']): Promise<Record<string, string>> => {
    if (bearer === 'none' || (bearer === 'if there' && !(await isThere(tokenPath)))) return {}
    return { authorization: `Bearer ${await ownFile('our own token', tokenPath)}` }
  }
  const authoritiesOf = async (url: URL): Promise<{ readonly ca?: string | string[] }> => {
    if (url.protocol !== 'https:' || caPath === undefined) return {}
    const own = await ownFile('the certificate authority', caPath)
    return { ca: url.origin === origin ? own : [...systemList(), own] }
  }

  return async ({ url, method, bearer, headers, body, signal }: Call): Promise<Answer> => {
    try {
      const secure = url.startsWith('https:')
      const limit = clock.timeout(TIMEOUT_MS)
      const options: RequestOptions = {
        method,
        headers: {
          'user-agent': userAgent,
          ...headers,
          ...(await bearerOf(bearer)),
          ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        },
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        agent: agents[secure ? 'https' : 'http'],
        ...(await authoritiesOf(new URL(url))),
      }
      return await send(url, options, body)
    } catch (error) {
      return clusterUnavailable(error)
    }
  }
}

export type Cluster = ReturnType<typeof cluster>

/** Sends once more what met a kept connection just as the server closed it: nothing that is asked here changes the cluster. */
const send = async (url: string, options: RequestOptions, body: string | undefined): Promise<Answer> => {
  const state = { reused: false }
  try {
    return await sendOnce(url, options, body, state)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!state.reused || (code !== 'ECONNRESET' && code !== 'EPIPE')) throw error
    return sendOnce(url, { ...options, agent: false }, body, state)
  }
}

const sendOnce = (
  url: string,
  options: RequestOptions,
  body: string | undefined,
  state: { reused: boolean },
): Promise<Answer> =>
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
    sent.on('error', (error) => {
      state.reused = sent.reusedSocket
      reject(error)
    })
    sent.end(body)
  })
