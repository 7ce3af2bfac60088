import { noteDate } from './clock.ts'
import { Failure, failureOf } from './failure.ts'
import { noteMoment } from './moments.ts'
import { notePosition, positionWanted } from './position.ts'
import { noteReach } from './reach.ts'

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
type Asked = {
  readonly method?: Method
  readonly headers?: Readonly<Record<string, string>>
  /** JSON text. */
  readonly body?: string
  /** Whether the request only reads; default: its method is GET. */
  readonly reads?: boolean
  readonly signal?: AbortSignal | undefined
  /** Form of the answer's body; default: JSON. */
  readonly form?: keyof typeof forms
}
const forms = {
  json: (answer: Response): Promise<unknown> => answer.json(),
  text: (answer: Response): Promise<string> => answer.text(),
  bytes: async (answer: Response): Promise<Uint8Array> => new Uint8Array(await answer.arrayBuffer()),
}
export type Answered<T> = { readonly value: T; readonly etag: string | undefined; readonly headers: Headers }

const TIMEOUT_MS = 15_000

/** Called on every 401 answer, except that of the sign-in. */
type Unauthorized = () => void
let onUnauthorized: Unauthorized = () => undefined
export const whenUnauthorized = (listener: Unauthorized): void => {
  onUnauthorized = listener
}

/** Called on every 403 answer, because the cached rights may be stale. */
let onForbidden: () => void = () => undefined
export const whenForbidden = (listener: () => void): void => {
  onForbidden = listener
}

/** Absolute address of a path of the service. */
export const addressOf = (path: string): string => new URL(path, document.baseURI).href

const lost = (error: unknown, signal: AbortSignal | undefined): Failure => {
  if (signal?.aborted) throw error
  noteReach('away')
  const late = error instanceof DOMException && error.name === 'TimeoutError'
  return new Failure(late ? 'no answer within 15 seconds' : 'no answer', { status: 0, reason: 'no_answer' })
}

const SAME_ORIGIN = { credentials: 'same-origin', cache: 'no-store', redirect: 'error' } as const

/** Records an error answer and converts it to a `Failure`. `isSignIn`: a 401 of a sign-in does not end the session. */
const refusalOf = async (answer: Response, isSignIn = false): Promise<Failure> => {
  if (answer.status === 401 && !isSignIn) onUnauthorized()
  if (answer.status === 403) onForbidden()
  const failure = await failureOf(answer)
  // The cached access also lists the namespaces that need a reason.
  if (failure.reason === 'reason_required') onForbidden()
  noteReach(failure.reason === 'auth_stale' ? 'stale' : 'reached')
  return failure
}

/** Sends a request with the session cookie of the browser. Throws a `Failure` on an error answer or no answer. */
export const request = async <T>(path: string, asked: Asked = {}): Promise<Answered<T>> => {
  const { method = 'GET', headers = {}, body, reads = ['GET', 'HEAD'].includes(method), signal, form = 'json' } = asked
  const position = reads ? positionWanted() : undefined
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  let answer: Response
  try {
    answer = await fetch(addressOf(path), {
      ...SAME_ORIGIN,
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(position !== undefined && { 'after-position': position }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    })
  } catch (error) {
    throw lost(error, signal)
  }
  noteDate(answer.headers.get('date'))
  notePosition(answer.headers.get('event-position'))
  noteMoment(path, answer.headers)
  if (!answer.ok) throw await refusalOf(answer, 'authorization' in headers)
  const value = (await forms[form](answer).catch((error: unknown) => {
    throw lost(error, signal)
  })) as T
  noteReach('reached')
  return { value, etag: answer.headers.get('etag')?.replaceAll('"', '') ?? undefined, headers: answer.headers }
}

/** Sends a request and returns the body of the answer. Throws as `request` does. */
export const read = async <T>(path: string, asked?: Asked): Promise<T> => (await request<T>(path, asked)).value

/**
 * Opens a stream of server-sent events after an event of the log, without a time limit. Throws a `Failure` on an error
 * answer or no answer.
 */
export const openStream = async (
  path: string,
  lastEventId: number,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> => {
  let answer: Response
  try {
    const headers = { accept: 'text/event-stream', 'last-event-id': String(lastEventId) }
    answer = await fetch(addressOf(path), { ...SAME_ORIGIN, headers, signal })
  } catch (error) {
    throw lost(error, signal)
  }
  noteDate(answer.headers.get('date'))
  if (!answer.ok) throw await refusalOf(answer)
  noteReach('reached')
  return answer.body ?? new ReadableStream<Uint8Array>({ start: (stream) => stream.close() })
}

/** Joins the percent-encoded parts of a path. */
export const path = (...parts: readonly string[]): string => parts.map(encodeURIComponent).join('/')

/** Query string of all values that are neither undefined nor empty. */
export const query = (of: Readonly<Record<string, string | number | undefined>>): string => {
  const given = Object.entries(of).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`
}
