import type { CustomFetchOptions } from 'openid-client'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { LoginCause } from '../../base/login-causes.ts'
import { refusalFor } from '../refusal-details.ts'
import { codesOf, type OwnFault, ownFaultOf, safeCause } from '../safe-cause.ts'
import { trustIn } from './authority.ts'
import { outgoing, type Reach } from './outgoing.ts'

const TIMEOUT_MS = 5000
/** Pattern of the TLS error codes about the server's certificate. */
const CERTIFICATE = /CERT|SIGNATURE|ALTNAME/
/** Client error statuses of a temporary problem. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

const faults: Readonly<Record<OwnFault, LoginCause>> = {
  proxy: 'proxy_failing',
  authority: 'certificate',
  answer: 'answer_unusable',
  large: 'answer_unusable',
}

/** Purpose and host of a call. */
export type ProviderStep = { readonly step: string; readonly host: string }
export const placeOf = (step: string, url: string): ProviderStep => ({ step, host: new URL(url).host.slice(0, 255) })

/** Finds a refusal in an error or its cause, because the libraries wrap errors that callbacks throw. */
const refusalIn = (error: unknown): Refusal | undefined =>
  [error, (error as { cause?: unknown } | undefined)?.cause].find((step) => step instanceof Refusal)

/**
 * Refuses because a provider's answer is unusable. `what` is a sentence of our own or a library error, of which only
 * names and codes are used. An error that is a refusal already is returned unchanged.
 */
export const unusable = (place: ProviderStep, what: unknown): never => {
  throw refusalIn(what) ?? refusalFor('answer_unusable', { ...place, what: safeCause(what).message })
}

/** Refuses because of the status of an answer: the provider fails temporarily, or does not support the request. */
export const refusedBy = (
  place: ProviderStep,
  status: number,
  extras: Parameters<typeof refusalFor>[2] = {},
): never => {
  if (status >= 300 && status < 500 && !PASSING.has(status))
    throw refusalFor('answer_refused', { ...place, status }, extras)
  throw refusalFor('answer_unusable', { ...place, what: `answered with status ${status}` }, extras)
}

const outOfReach = (place: ProviderStep, error: unknown): Refusal => {
  const fault = ownFaultOf(error)
  if (fault) return refusalFor(faults[fault], { ...place, what: safeCause(error).message })
  const { names, codes } = codesOf(error)
  if (names.includes('TimeoutError')) return refusalFor('unreachable', { ...place, what: 'no answer within 5 s' })
  const what = codes.at(-1) ?? safeCause(error).message
  return CERTIFICATE.test(what)
    ? refusalFor('certificate', { ...place, what: `its certificate is not trusted (${what})` })
    : refusalFor('unreachable', { ...place, what })
}

type Init = Pick<CustomFetchOptions, 'method' | 'headers'> & Partial<Pick<CustomFetchOptions, 'body'>>

/** Settings for calls to a provider. */
export type Asking = Reach & { readonly clock: Clock; readonly userAgent: string }

/**
 * HTTP client for a provider: no redirects, timeout 5 s, at most 1 MiB of answer. Failures are refused with
 * `provider_unavailable`. A 2xx answer that is too large is refused by `tooLarge`.
 */
export const providerFetch = ({ clock, userAgent, caPath, proxyOf, mayBeHttp, tracer }: Asking) => {
  const ask = outgoing({ clock, userAgent, limit: TIMEOUT_MS, trust: trustIn(caPath), proxyOf, mayBeHttp, tracer })
  return async (
    step: string,
    url: string,
    { method, headers, body }: Init,
    tooLarge?: (place: ProviderStep) => never,
  ): Promise<Response> => {
    const place = placeOf(step, url)
    try {
      // The OpenID library sends only forms.
      const form = (body as URLSearchParams | null | undefined)?.toString()
      const answer = await ask({ url, method, headers, body: form, repeatable: method === 'GET' })
      const content = answer.body.length === 0 ? null : answer.body
      return new Response(content, { status: answer.status, headers: answer.headers })
    } catch (error) {
      if (tooLarge && ownFaultOf(error) === 'large') return tooLarge(place)
      throw outOfReach(place, error)
    }
  }
}

export type ProviderFetch = ReturnType<typeof providerFetch>

/** Returns the JSON of an answer with status 200. Any other answer of the provider is refused. */
export const jsonOf = async (response: Response, place: ProviderStep): Promise<unknown> => {
  if (response.status !== 200) return refusedBy(place, response.status)
  try {
    return await response.json()
  } catch {
    return unusable(place, 'answer is not JSON')
  }
}
