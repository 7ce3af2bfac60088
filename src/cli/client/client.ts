import type { Clock } from '../../base/clock.ts'
import { type About, EXIT, fail, isFailure } from '../../base/failure.ts'

/** Kinds of failures by status. */
export const KINDS: Readonly<Record<number, keyof typeof EXIT>> = {
  401: 'denied',
  403: 'denied',
  404: 'notFound',
  409: 'conflict',
  412: 'conflict',
  429: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}
/** Exit codes by reason, which are more specific than the status (api.md §2.3). */
const REASONS: Readonly<Record<string, keyof typeof EXIT>> = {
  not_unique: 'conflict',
  rank_taken: 'conflict',
  in_use: 'conflict',
  not_empty: 'conflict',
  reason_required: 'usage',
}
const NEXT: Readonly<Record<string, string>> = {
  credential_missing: 'Set a token: ROLLCALL_TOKEN, --token-file PATH, or the file ~/.config/rollcall/token.',
  credential_invalid:
    'The token is unknown, expired or revoked. Use a different token, or create one on the host of the service: rollcall token create NAME --data DIR',
  token_scoped: 'The token in use was created for one namespace. Use a token with access to all namespaces.',
  right_missing: 'The token in use does not have this right: rollcall whoami lists its rights.',
  grant_exceeds: 'A token can grant no more rights than it has: rollcall whoami lists the rights of the token in use.',
  reason_required: 'Give the reason of the change: --reason TEXT',
  route_not_found:
    'The service does not have this route: check that the login method is enabled, and that the address is right.',
}

type Detail = { readonly value?: { readonly reason?: string; readonly metadata?: About } }
type ErrorBody = { readonly message?: unknown; readonly details?: readonly Detail[] }

/** Fails with the message of a refusal, and with the exit code of its reason or status. */
const refused = (status: number, body: unknown): never => {
  const { message, details } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody
  const detail = Array.isArray(details) ? (details as readonly Detail[])[0]?.value : undefined
  const reason = detail?.reason ?? ''
  const text = typeof message === 'string' ? message : `HTTP status ${status}`
  return fail(
    REASONS[reason] ?? KINDS[status] ?? 'failed',
    `The service refused: ${text}`,
    NEXT[reason],
    detail?.metadata,
  )
}

export const DEFAULT_ADDRESS = 'http://127.0.0.1:8080'

const MIB = 1_048_576
/** Maximum bytes of an answer, of one line of a stream, and of all pages of a list. Compressed answers count as read. */
const [ANSWER, LINE, LIST] = [64 * MIB, 16 * MIB, 512 * MIB]

/** Bytes that the further pages of a list may have. */
export type ListBudget = { left: number }
/** Returns the budget of one list that a command keeps in memory. */
export const listBudget = (): ListBudget => ({ left: LIST })

const tooLong = (what: string, most: number): never =>
  fail('failed', `${what} has more than ${most / MIB} MiB.`, 'Check --address and ROLLCALL_ADDRESS.')

/** Content of an answer; stops reading and fails behind the maximum. */
const contentOf = async ({ body }: Response, list: ListBudget = { left: ANSWER }): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > ANSWER) tooLong('The answer of the server', ANSWER)
    if (size > list.left) tooLong('The list of the server', LIST)
    chunks.push(chunk)
  }
  list.left -= size
  return Buffer.concat(chunks, size)
}

const jsonIn = (content: Buffer): unknown => {
  try {
    return JSON.parse(content.toString())
  } catch {
    return undefined
  }
}

/** Returns a function that splits arriving bytes into whole texts. Fails if a text without its end becomes too long. */
export const splitAt = (end: string): ((chunk: Uint8Array) => readonly string[]) => {
  const decoder = new TextDecoder()
  let rest = ''
  return (chunk) => {
    const texts = (rest + decoder.decode(chunk, { stream: true })).split(end)
    rest = texts.pop()!
    return rest.length > LINE ? tooLong('A line of the server', LINE) : texts
  }
}

type Query = Readonly<Record<string, string | number | undefined>>
export type ClientRequest = {
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Fails if the service omitted unreadable documents from the answer (api.md §4, Rollcall-Unreadable). */
  readonly whole?: boolean
  /** The answer is a page of this list. */
  readonly list?: ListBudget
}
export type Client = {
  /**
   * Sends a request and returns the JSON of its 200 answer. Repeats a GET within the timeout while the service is too
   * busy. Any other answer is a Failure with its exit code.
   */
  readonly ask: <T>(method: string, path: string, asked?: ClientRequest) => Promise<T>
  /** Sends a GET as `ask` does, and returns the bytes of its 200 answer. */
  readonly bytes: (path: string) => Promise<Buffer>
  /**
   * Begins a GET or HEAD whose 200 answer can be of any length, and returns the answer. The timeout ends with the
   * headers. Any other answer is a Failure as for `ask`. Aborting `stop` also
   * ends the body.
   */
  readonly open: (
    path: string,
    asked: Pick<ClientRequest, 'query' | 'headers'> & { readonly method?: 'GET' | 'HEAD' },
    stop: AbortSignal,
  ) => Promise<Response>
}

const base = (address: string): string => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return fail('usage', 'The address must be an http or https URL.', `Example: ${DEFAULT_ADDRESS}`)
  if (url.username !== '' || url.password !== '')
    return fail('usage', 'The address must not contain credentials.', 'Set the token with ROLLCALL_TOKEN.')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/**
 * Escapes one segment of a path. Refuses `.` and `..`, because URL parsing would remove them and address another
 * object.
 */
export const segment = (name: string): string =>
  name === '' || name === '.' || name === '..'
    ? fail('usage', `"${name}" cannot be part of a request path.`)
    : encodeURIComponent(name)

/** Fails if the answer omits unreadable documents. The prefix of the header depends on the deployment. */
const insistOnWhole = (headers: Headers): void => {
  const found = [...headers].find(([name]) => name.endsWith('-unreadable'))
  if (found)
    fail(
      'unavailable',
      `The answer leaves out ${found[1]} ${found[1] === '1' ? 'item' : 'items'} that the service cannot read.`,
      'The log of the service names the events that it cannot read. With --at you can read the state before these events.',
    )
}

/** The answer; undefined if the token in use does not have the right. */
export const ifAllowed = async <T>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer
  } catch (error) {
    if (!isFailure(error) || error.kind !== 'denied') throw error
    return undefined
  }
}

/** Returns true for a failure to connect to the service. */
export const isUnreachable = (error: unknown): boolean => isFailure(error) && error.about['unreachable'] === true

const unanswered = (error: unknown, address: string, timeout: number): never => {
  if (isFailure(error)) throw error
  if (error instanceof Error && error.name === 'TimeoutError') {
    return fail(
      'unavailable',
      `No answer from ${address} within ${timeout} ms.`,
      'Try again, or wait longer with --timeout.',
    )
  }
  const { code } = ((error as Error).cause ?? {}) as { code?: string }
  const why = code === undefined ? '' : ` (${code})`
  const next = 'Start the service with: rollcall serve   or set another address with --address URL or ROLLCALL_ADDRESS.'
  return fail('unavailable', `No service answers at ${address}${why}.`, next, { unreachable: true })
}

/** Time in ms after which a GET may be repeated that a busy service refused; undefined if a repetition is useless. */
const pauseOf = (method: string, { status, headers }: Response): number | undefined => {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return method === 'GET' && (status === 429 || status === 503) && seconds >= 0 ? seconds * 1000 : undefined
}

/**
 * HTTP client of the service at `address`. Does not follow redirects, so the token is sent nowhere else. `timeout` in
 * ms.
 */
export const client = (address: string, token: string | undefined, timeout: number, clock: Clock): Client => {
  const root = base(address)
  const urlOf = (path: string, query: Query): URL => {
    const url = new URL(root + path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== '') url.searchParams.set(name, String(value))
    return url
  }
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  /** Answer of a request. Repeats a GET that the service is too busy for, within the timeout. */
  const send = async (method: string, path: string, { query = {}, body, headers = {} }: ClientRequest) => {
    const url = urlOf(path, query)
    const last = clock.monotonic() + timeout
    const once = () =>
      fetch(url, {
        method,
        redirect: 'manual',
        signal: clock.timeout(timeout),
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...authorization,
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch((error: unknown) => unanswered(error, root, timeout))
    let answer = await once()
    for (
      let pause = pauseOf(method, answer);
      pause !== undefined && clock.monotonic() + pause < last;
      pause = pauseOf(method, answer)
    ) {
      await answer.body?.cancel()
      await clock.sleep(pause)
      answer = await once()
    }
    return answer
  }
  return {
    ask: async <T>(method: string, path: string, asked: ClientRequest = {}) => {
      const answer = await send(method, path, asked)
      const parsed = jsonIn(
        await contentOf(answer, asked.list).catch((error: unknown) => unanswered(error, root, timeout)),
      )
      if (parsed === undefined && answer.ok)
        fail(
          'failed',
          `The server at ${root} is not Rollcall: its answer is not JSON.`,
          'Check --address and ROLLCALL_ADDRESS.',
        )
      if (answer.status !== 200) return refused(answer.status, parsed)
      if (asked.whole) insistOnWhole(answer.headers)
      return parsed as T
    },
    bytes: async (path) => {
      const answer = await send('GET', path, { headers: { accept: '*/*' } })
      const content = await contentOf(answer).catch((error: unknown) => unanswered(error, root, timeout))
      return answer.status === 200 ? content : refused(answer.status, jsonIn(content))
    },
    open: async (path, { method = 'GET', query = {}, headers = {} }, stop) => {
      const late = new AbortController()
      const timer = clock.after(timeout, () => late.abort(new DOMException('no answer', 'TimeoutError')))
      const signal = AbortSignal.any([stop, late.signal])
      const asked = { method, redirect: 'manual', signal, headers: { ...authorization, ...headers } } as const
      try {
        const answer = await fetch(urlOf(path, query), asked)
        return answer.status === 200 ? answer : refused(answer.status, jsonIn(await contentOf(answer)))
      } catch (error) {
        return unanswered(error, root, timeout)
      } finally {
        timer.cancel()
      }
    },
  }
}
