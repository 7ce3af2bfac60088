import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import type { Config } from './config.ts'
import { Refusal } from './errors.ts'
import { errorBody, refusalHeaders } from './http/refusal.ts'

/** Answers while the stores are not up: alive, not ready, and 503 to everything else. `missing` takes why; `leave` waits, and is true when the process is asked to end. */
export const waitingRoom = async ({ protocol, host, http_port, https_port, cert_file, cert_key }: Config['server']) => {
  let why = 'starting'
  const refusal = new Refusal('backend_unavailable')
  const answers: Readonly<Record<string, (verbose: boolean) => readonly [number, object]>> = {
    '/livez': () => [200, { status: 'ok' }],
    '/readyz': (verbose) => [503, { status: 'not_ready', ...(verbose && { checks: [{ name: why, status: 'failed' }] }) }],
    '/health': () => [503, { status: 'NOT_SERVING' }],
  }
  const answer: RequestListener = ({ url = '/' }, response) => {
    const [path = '/', query = ''] = url.split('?')
    const id = randomUUID()
    const [status, body] = answers[path]?.(/(^|&)verbose/.test(query)) ?? [refusal.status, errorBody(refusal, id)]
    const headers = status === refusal.status ? refusalHeaders(refusal) : { 'content-type': 'application/json' }
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
