import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4, SocketAddress } from 'node:net'

declare module 'fastify' {
  interface FastifyInstance {
    clientAddress: ReturnType<typeof clientAddress>
  }
}

type Heard = Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } }

/** Maximum number of proxies in the chain. */
const HOPS = 32
const PORT = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
/** Maximum length of the text of an address, including brackets, port and zone. */
const LONGEST = 128

/** Converts an IPv4-mapped address to IPv4; returns every other text unchanged. */
const unmapped = (address: string): string => MAPPED.exec(address)?.[1] ?? address

/**
 * Canonical form of an address (RFC 5952), at most 45 characters: without brackets, port and zone; an IPv4-mapped
 * address as IPv4. The result is undefined if the text is not an address.
 */
export const addressIn = (text: string): string | undefined => {
  if (text.length > LONGEST) return undefined
  const bare = text.trim().replace(PORT, '$1$2')
  const plain = unmapped(bare)
  if (isIPv4(plain)) return plain
  if (isIP(bare) === 0) return undefined
  const { address } = new SocketAddress({ address: bare.split('%', 1)[0]!, family: 'ipv6' })
  return unmapped(address)
}

/** Addresses of the peers of open connections. */
const peers = new WeakMap<Heard['socket'], string>()

/** Address of the peer of a connection, made once; `unknown` if the connection was reset before. */
const peerOf = (socket: Heard['socket']): string => {
  const known = peers.get(socket)
  if (known !== undefined) return known
  const address = addressIn(socket.remoteAddress ?? '')
  if (address !== undefined) peers.set(socket, address)
  return address ?? 'unknown'
}

const ignored = (): void => undefined

/**
 * Address of the client: the connection's peer or, behind trusted proxies, the address that they wrote into
 * `X-Forwarded-For`. If a proxy wrote anything but an address, the address of that proxy counts. `unknown` if the
 * connection was reset before its first request. `onUntrusted` is called for forwarded headers of another peer.
 */
export const clientAddress =
  (trusts: (hop: string) => boolean, onUntrusted = ignored) =>
  ({ socket, headers }: Heard): string => {
    const list = headers['x-forwarded-for']
    let hop = peerOf(socket)
    if ((list ?? headers.forwarded) === undefined || hop === 'unknown') return hop
    if (!trusts(hop)) {
      onUntrusted()
      return hop
    }
    if (typeof list !== 'string') return hop
    for (let end = list.length, hops = 0; end >= 0 && hops < HOPS && (hops === 0 || trusts(hop)); hops++) {
      const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
      const next = addressIn(list.slice(comma + 1, end))
      if (next === undefined) break
      hop = next
      end = comma
    }
    return hop
  }
