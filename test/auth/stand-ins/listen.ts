import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { freePort } from '../../free-port.ts'

/** Subset of a tap test that a stand-in needs to close itself. */
export type Scope = { readonly teardown: (handler: () => unknown) => unknown }

/** Certificate of a TLS server. Its address has the name of the certificate. */
export type Tls = { readonly name?: string; readonly key: string; readonly cert: string }

/** Serves on a free loopback port until the test ends. */
export const listen = async (
  t: Scope,
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
  tls?: Tls,
): Promise<string> => {
  const listener = (request: IncomingMessage, response: ServerResponse) => void handler(request, response)
  const server = tls ? createSecureServer(tls, listener) : createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http${tls ? 's' : ''}://${tls?.name ?? '127.0.0.1'}:${(server.address() as AddressInfo).port}`
}

/** A free loopback port without a listener. */
export const deadUrl = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

export const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

/** Returns true if a request accepts a media type (RFC 9110 §12.5.1): by name, by a range, or without `Accept`. */
export const accepts = ({ headers }: IncomingMessage, type: string): boolean => {
  const ranges = (headers.accept ?? '*/*').split(',').map((range) => {
    const [name, ...parameters] = range.split(';').map((part) => part.trim())
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? '' : name
  })
  return [type, `${type.split('/')[0]}/*`, '*/*'].some((name) => ranges.includes(name))
}

export type Answer = (response: ServerResponse) => void

export const json =
  (status: number, value: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

/** Extends a valid answer to more than 1 MiB. */
export const filler = { filler: 'x'.repeat(1_048_577) }

/** Unusable answers, by name. */
export const unusable: Readonly<Record<string, Answer>> = {
  'a closed connection': (response) => void response.destroy(),
  HTML: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>'),
  'an empty body': (response) => void response.writeHead(200).end(),
  'no content': (response) => void response.writeHead(204).end(),
  'a JSON list': json(200, []),
  'a redirect': (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  'a redirect that keeps the body': (response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  '404': json(404, { message: 'not here' }),
  '429': json(429, { message: 'slow down' }),
  '500': json(500, { error: 'invalid_grant' }),
  'half an answer': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
    response.write('{"a":', () => response.destroy())
  },
}

/** Expected reason for such an answer. A redirect or a 4xx status is a configuration error. */
export const reasonOfUnusable = (name: string): 'provider_mismatch' | 'provider_unavailable' =>
  /^(a redirect|404|401|403)/.test(name) ? 'provider_mismatch' : 'provider_unavailable'

/** Never completes its answer. */
export const silence: Answer = (response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).write('{')
