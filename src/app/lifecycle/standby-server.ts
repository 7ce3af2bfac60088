import type { RequestListener } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { Refusal, refuse, rootCause, whyOf } from '../../base/errors.ts'
import { isFailure } from '../../base/failure.ts'
import { isConfigError } from '../../config/problem.ts'
import { healthQuery } from '../../contract/operations.ts'
import { named, type Query, queryIn } from '../../contract/readers/input.ts'
import { unnamed } from '../../http/routes/instance.ts'
import { errorBody, refusalHeaders } from '../../http/wire/error-reply.ts'
import { requestId } from '../../http/wire/framing.ts'
import { cleanTarget } from '../../http/wire/path.ts'
import type { Port } from '../../http/wire/port.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Answer of the standby server to a path. Refusals are thrown. */
type Answer = (query: Query) => readonly [status: number, body: object]
type Answers = Readonly<Record<string, Answer>>

const healthOf = (why: () => string): Answers => ({
  '/livez': () => [200, { status: 'ok' }],
  '/readyz': (query) => [
    503,
    { status: 'not_ready', ...(named(query, 'verbose') && { checks: [{ name: why(), status: 'failed' }] }) },
  ],
  '/health': (query) => {
    unnamed(healthQuery.read(query))
    return [503, { status: 'NOT_SERVING' }]
  },
})

const notAllowed = (): never => refuse('method_not_allowed', undefined, { headers: { allow: 'GET, HEAD' } })

const answering = (answers: Answers): RequestListener => {
  const answerTo = (
    method: string | undefined,
    target: string,
    id: string,
  ): readonly [status: number, headers: Readonly<Record<string, string>>, body: object] => {
    const [path = '/', query = ''] = target.split('?', 2)
    try {
      const answer = answers[path] ?? refuse('backend_unavailable')
      const [status, body] = method === 'GET' || method === 'HEAD' ? answer(queryIn(query)) : notAllowed()
      return [
        status,
        { 'content-type': 'application/json', ...(status >= 400 && { 'cache-control': 'no-store' }) },
        body,
      ]
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return [error.status, refusalHeaders(error), errorBody(error, id)]
    }
  }
  return (request, response) => {
    const id = requestId(request)
    const [status, headers, body] = answerTo(request.method, cleanTarget(request), id)
    const text = JSON.stringify(body)
    response.writeHead(status, {
      ...headers,
      'content-length': Buffer.byteLength(text),
      'x-request-id': id,
      'x-content-type-options': 'nosniff',
      connection: 'close',
    })
    response.end(text)
  }
}

/**
 * Standby server: until the service takes over the ports, it answers as alive but not ready, and 503 to all other
 * requests. `missing` sets the reason that the standby server reports.
 */
export const standbyServer = ([first, ...others]: readonly [Port, ...(readonly Port[])]) => {
  let why = 'starting'
  first.handle(answering(healthOf(() => why)))
  for (const { handle } of others) handle(answering({}))
  return {
    /** Sets the reason from an error, and returns it. */
    missing: (error: unknown): string => (why = error instanceof Error ? error.message.split('\n', 1)[0]! : 'unknown'),
  }
}

const RETRY_MS = 1_000

/**
 * Starts the service, and retries until its servers are available, in any order. Errors of configuration and other
 * permanent failures are not retried. Each change of the missing part or its cause is logged, and so is the end of the
 * wait.
 */
export const sooner = async <T>(
  begin: () => Promise<T>,
  { monotonic, sleep }: Pick<Clock, 'monotonic' | 'sleep'>,
  logger: Pick<Logger, 'warn' | 'info'>,
  room: ReturnType<typeof standbyServer>,
  ending: AbortSignal | undefined,
): Promise<T> => {
  let lastCause: string | undefined
  const since = monotonic()
  for (;;) {
    try {
      const begun = await begin()
      const seconds = Math.round((monotonic() - since) / 1000)
      if (lastCause !== undefined) logger.info({ seconds }, 'all servers that the start waited for are available')
      return begun
    } catch (error) {
      if (isFailure(error) || isConfigError(error) || ending?.aborted) throw error
      const [missing, why] = [room.missing(error), whyOf(rootCause(error))]
      if (`${missing}: ${why}` !== lastCause)
        logger.warn(
          { missing, why },
          'the service cannot start yet, because a server that it needs is unreachable; it repeats the start until the server is available',
        )
      lastCause = `${missing}: ${why}`
      await sleep(RETRY_MS, ending)
    }
  }
}
