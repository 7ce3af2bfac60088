import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Taker } from '../../base/gate.ts'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** Converts an IPv4-mapped address to IPv4; returns every other text unchanged. */
export const unmapped = (address: string): string => MAPPED.exec(address)?.[1] ?? address

/** Key of an address in rate limits: IPv4 (also IPv4-mapped) unchanged, IPv6 by its first 64 bits. */
export const addressKey = (address: string): string => {
  const plain = address.split('%', 1)[0]!
  const ipv4 = unmapped(plain)
  if (isIPv4(ipv4) || !isIPv6(plain)) return ipv4
  const [head = '', tail] = plain.split('::')
  const first = head === '' ? [] : head.split(':')
  const last =
    tail === undefined || tail === ''
      ? []
      : tail.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]))
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...last].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/**
 * Holder whose share of memory a request uses: the credential, or the address of an anonymous caller. Each address that
 * uses a publishable token has a share of its own.
 */
export const takerOf = ({ caller: { actor, published = false }, address }: FastifyRequest): Taker => {
  const holder = actor.id ?? addressKey(address)
  return published ? { holder: `${holder} ${addressKey(address)}`, published } : { holder, published }
}
