import type { CustomFetchOptions } from 'openid-client'
import type { Clock } from '../clock.ts'
import { Refusal, refuse } from '../errors.ts'
import { withProviderError } from './callback.ts'
import { safeCause } from './safe-cause.ts'

const TIMEOUT_MS = 5000
const LIMIT = 1_048_576

/**
 * Refuses because the provider is unavailable. The cause is for the operator and quotes only the provider's error code.
 * A refusal passes through unchanged.
 */
export const unavailable = (cause: unknown, providerError?: unknown): never => {
  for (const step of [cause, (cause as { cause?: unknown }).cause]) if (step instanceof Refusal) throw step
  return refuse('provider_unavailable', undefined, {
    headers: { 'retry-after': '5' },
    cause: withProviderError(safeCause(cause), providerError),
  })
}

type Init = Pick<CustomFetchOptions, 'method' | 'headers'> & Partial<Pick<CustomFetchOptions, 'body'>>

const answerTooLarge = (): never => unavailable('answer larger than 1 MiB')

/**
 * Calls to a provider: no redirect followed, 5 s for all of one, at most 1 MiB of answer. Anything else refuses with `provider_unavailable`; a
 * good answer that is too large, as `tooLarge` does.
 */
export const providerFetch =
  (clock: Clock, userAgent: string) =>
  async (url: string, { method, headers, body }: Init, tooLarge = answerTooLarge): Promise<Response> => {
    try {
      const signal = clock.timeout(TIMEOUT_MS)
      const own = { ...headers, 'user-agent': userAgent }
      const response = await fetch(url, { method, headers: own, body: body ?? null, redirect: 'manual', signal })
      const content = await limited(response, response.ok ? tooLarge : answerTooLarge)
      return new Response(content, { status: response.status, headers: response.headers })
    } catch (error) {
      return unavailable(error)
    }
  }

export type ProviderFetch = ReturnType<typeof providerFetch>

const limited = async ({ body }: Response, tooLarge: () => never): Promise<Uint8Array | null> => {
  if (body === null) return null
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > LIMIT) tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The JSON of an answer with status 200; anything else refuses with `provider_unavailable`. */
export const jsonOf = async (response: Response): Promise<unknown> => {
  if (response.status !== 200) return unavailable(`answered with status ${response.status}`)
  try {
    return await response.json()
  } catch {
    return unavailable('answer is not JSON')
  }
}

/** True for a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
