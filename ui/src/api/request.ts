import { noteDate } from './clock.ts'
import { Failure, failureOf } from './failure.ts'
import { noteMoment } from './moments.ts'
import { notePosition, positionWanted } from './position.ts'
import { noteReach } from './reach.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
export type Asked = {
  readonly method?: Method
  readonly headers?: Readonly<Record<string, string>>
  /** The JSON text of the body. */
  readonly body?: string
  /** It writes nothing, whatever its method. */
  readonly reads?: boolean
  readonly signal?: AbortSignal | undefined
}
export type Answered<T> = { readonly value: T; readonly etag: string | undefined; readonly headers: Headers }

const TIMEOUT_MS = 15_000

/** Told of every answer 401 but that of the sign-in itself. */
type Unauthorized = () => void
let onUnauthorized: Unauthorized = () => undefined
export const whenUnauthorized = (told: Unauthorized): void => {
  onUnauthorized = told
}

/** Told of every answer 403: what may be done is less than was thought. */
let onForbidden: () => void = () => undefined
export const whenForbidden = (told: () => void): void => {
  onForbidden = told
}

/** The address of something of the service, relative to the base path. */
export const addressOf = (path: string): string => new URL(path, document.baseURI).href

const lost = (error: unknown, signal: AbortSignal | undefined): Failure => {
  if (signal?.aborted) throw error
  noteReach('away')
  const late = error instanceof DOMException && error.name === 'TimeoutError'
  return new Failure(late ? 'no answer within 15 seconds' : 'no answer', { status: 0, reason: 'no_answer' })
}

/** One request to the service, under the session of this browser. A refusal, or no answer, is a `Failure`. */
export const request = async <T>(path: string, asked: Asked = {}): Promise<Answered<T>> => {
  const { method = 'GET', headers = {}, body, reads = method === 'GET', signal } = asked
  const position = reads ? positionWanted() : undefined
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  let answer: Response
  try {
    answer = await fetch(addressOf(path), {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(position !== undefined && { 'after-position': position }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    })
  } catch (error) {
    throw lost(error, signal)
  }
  noteDate(answer.headers.get('date'))
  notePosition(answer.headers.get('event-position'))
  noteMoment(path, answer.headers)
  if (!answer.ok) {
    if (answer.status === 401 && !('authorization' in headers)) onUnauthorized()
    if (answer.status === 403) onForbidden()
    const failure = await failureOf(answer)
    noteReach(failure.reason === 'auth_stale' ? 'stale' : 'reached')
    throw failure
  }
  const value = (await answer.json().catch((error: unknown) => {
    throw lost(error, signal)
  })) as T
  noteReach('reached')
  return { value, etag: answer.headers.get('etag')?.replaceAll('"', '') ?? undefined, headers: answer.headers }
}

/** A path of keys, each encoded. */
export const path = (...parts: readonly string[]): string => parts.map(encodeURIComponent).join('/')

/** A query, without what is absent or empty. */
export const query = (of: Readonly<Record<string, string | number | undefined>>): string => {
  const given = Object.entries(of).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`
}
