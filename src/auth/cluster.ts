import { stat } from 'node:fs/promises'
import type { Clock } from '../clock.ts'
import { Refusal, refuse } from '../errors.ts'
import { ownFile, trustIn } from './authority.ts'
import { outgoing, type Reach } from './outgoing.ts'
import { safeCause } from './safe-cause.ts'

const TIMEOUT_MS = 2000

/** Refuses because the cluster is unavailable, with a cause for the operator that holds no foreign text. */
export const refuseUnavailable = (cause: Error): never =>
  refuse('orchestrator_unavailable', undefined, { headers: { 'retry-after': '1' }, cause })

/** The same for whatever went wrong, without its foreign text. A refusal passes through unchanged. */
export const clusterUnavailable = (cause: unknown): never => {
  if (cause instanceof Refusal) throw cause
  return refuseUnavailable(safeCause(cause))
}

/** `caPath` is trusted for the configured address alone, for every other beside the list of the system. */
export type ClusterSettings = Reach & {
  readonly clock: Clock
  readonly discoveryUrl: string
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

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    ({ size }) => size > 0,
    () => false,
  )

/**
 * Calls to the cluster's API server: 2 s each, no redirects, at most 1 MiB of answer. The files are read for each call,
 * so a rotated token or CA counts at once. Connections are kept, and what met one that was closed just then is sent once
 * more: nothing that is asked here changes the cluster. Failure: `orchestrator_unavailable`.
 */
export const cluster = ({ discoveryUrl, caPath, tokenPath, ...settings }: ClusterSettings) => {
  const ask = outgoing({ ...settings, limit: TIMEOUT_MS, trust: trustIn(caPath, new URL(discoveryUrl).origin) })

  const bearerOf = async (bearer: Call['bearer']): Promise<Record<string, string>> => {
    if (bearer === 'none' || (bearer === 'if there' && !(await isThere(tokenPath)))) return {}
    return { authorization: `Bearer ${await ownFile('our own token', tokenPath)}` }
  }

  return async ({ url, method, bearer, headers, body, signal }: Call): Promise<Answer> => {
    try {
      const all = { ...headers, ...(await bearerOf(bearer)) }
      const answer = await ask({ url, method, headers: all, body, signal, repeatable: true })
      return { ...answer, body: answer.body.toString() }
    } catch (error) {
      return clusterUnavailable(error)
    }
  }
}

export type Cluster = ReturnType<typeof cluster>
