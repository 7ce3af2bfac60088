import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { type CookieSettings, truster } from './cookies.ts'

/**
 * Warns once per process when an untrusted peer sends forwarded headers. They are ignored, so all clients behind that
 * peer count as one. Each connection is checked once.
 */
export const forwardedUntrusted = (
  trustProxy: CookieSettings['trustProxy'],
  warn: () => void,
): ((request: FastifyRequest) => void) => {
  const trusts = truster(trustProxy)
  const known = new WeakSet<Socket>()
  let warned = false
  return ({ raw: { headers, socket } }) => {
    if (warned || (headers['x-forwarded-for'] ?? headers.forwarded) === undefined || known.has(socket)) return
    known.add(socket)
    const { remoteAddress: peer } = socket
    if (peer === undefined || trusts(peer)) return
    warned = true
    warn()
  }
}
