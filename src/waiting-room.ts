import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { readFileSync } from 'node:fs'
import type { Config } from './config.ts'
import { Refusal, refuse } from './errors.ts'
import { requestId } from './http/gate.ts'
import { cleanTarget, named } from './http/path.ts'
import { errorBody, refusalHeaders } from './http/refusal.ts'
import { healthQuery, unnamed } from './http/routes/health.ts'

/** What a path answers; refusals are thrown. Takes the raw query. */
type Answer = (query: string) => readonly [status: number, body: object]

/** Answers while the stores are not up as the service itself would: alive, not ready, and 503 to everything else. `missing` takes why; `leave` waits, and is true when the process is asked to end. */
export const waitingRoom = async ({ protocol, host, http_port, https_port, cert_file, cert_key }: Config['server']) => {
  let why = 'starting'
  const answers: Readonly<Record<string, Answer>> = {
    '/livez': () => [200, { status: 'ok' }],
    '/readyz': (query) => [503, { status: 'not_ready', ...(named(query, 'verbose') && { checks: [{ name: why, status: 'failed' }] }) }],
    '/health': (query) => {
      unnamed(healthQuery.read(query))
      return [503, { status: 'NOT_SERVING' }]
    },
  }
  const told = (target: string, id: string): readonly [status: number, headers: Readonly<Record<string, string>>, body: object] => {
    const [path = '/', query = ''] = target.split('?')
    try {
      const [status, body] = answers[path]?.(query) ?? refuse('backend_unavailable')
      return [status, { 'content-type': 'application/json', ...(status >= 400 && { 'cache-control': 'no-store' }) }, body]
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return [error.status, refusalHeaders(error), errorBody(error, id)]
    }
  }
  const answer: RequestListener = (request, response) => {
    const id = requestId(request)
    const [status, headers, body] = told(cleanTarget(request), id)
    response.writeHead(status, { ...headers, 'x-request-id': id, 'x-content-type-options': 'nosniff', connection: 'close' })
    response.end(JSON.stringify(body))
  }
  const secure = protocol === 'https'
  const server = secure
    ? createSecureServer({ cert: readFileSync(cert_file!), key: readFileSync(cert_key!) }, answer)
    : createServer(answer)
  await new Promise<void>((listening, failed) => {
    server.once('error', failed)
    server.listen(secure ? https_port : http_port, host, listening)
  })
  const ended = new AbortController()
  const end = () => ended.abort()
  process.on('SIGTERM', end).on('SIGINT', end)

  return {
    missing: (error: unknown): void => {
      why = error instanceof Error ? error.message.split('\n', 1)[0]! : 'unknown'
    },
    leave: async (ms: number): Promise<boolean> => {
      await new Promise<void>((next) => {
        const timer = setTimeout(next, ms)
        ended.signal.addEventListener('abort', () => {
          clearTimeout(timer)
          next()
        })
      })
      return ended.signal.aborted
    },
    close: async (): Promise<void> => {
      process.off('SIGTERM', end).off('SIGINT', end)
      await new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      })
    },
  }
}
