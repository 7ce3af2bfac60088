import { stat } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import { ownFile, trustIn } from '../outgoing/authority.ts'
import { outgoing, type Reach } from '../outgoing/outgoing.ts'
import { safeCause } from '../safe-cause.ts'

const TIMEOUT_MS = 2000

/** Refuses because the cluster is unavailable. The cause for the operator contains no foreign text. */
export const refuseUnavailable = (cause: Error): never =>
  refuse('orchestrator_unavailable', undefined, { headers: { 'retry-after': '1' }, cause })

/**
 * Refuses with `orchestrator_unavailable` for any error, without its text. An error that is a refusal already is
 * returned unchanged.
 */
export const clusterUnavailable = (cause: unknown): never => {
  if (cause instanceof Refusal) throw cause
  return refuseUnavailable(safeCause(cause))
}

/**
 * `caPath` is the only authority for the configured origin. For other origins the authorities of the system are trusted
 * as well.
 */
export type ClusterSettings = Reach & {
  readonly clock: Clock
  readonly discoveryUrl: string
  /** File with the bearer token of the service at the cluster. */
  readonly tokenPath: string
  /** `User-Agent` of the calls, for the cluster's log. */
  readonly userAgent: string
}

type Call = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Sends the bearer token: always, only if the token file exists, or never. */
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
 * Calls the cluster's API server: timeout 2 s, no redirects, at most 1 MiB of answer. The files are read for each call,
 * so a rotated token or CA takes effect immediately. All calls are repeatable because none of them changes the cluster.
 * Fails with `orchestrator_unavailable`.
 */
export const cluster = ({ discoveryUrl, caPath, tokenPath, ...settings }: ClusterSettings) => {
  const ask = outgoing({ ...settings, limit: TIMEOUT_MS, trust: trustIn(caPath, new URL(discoveryUrl).origin) })

  const bearerOf = async (bearer: Call['bearer']): Promise<Record<string, string>> => {
    if (bearer === 'none' || (bearer === 'if there' && !(await isThere(tokenPath)))) return {}
    return { authorization: `Bearer ${await ownFile('the token file', tokenPath)}` }
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
