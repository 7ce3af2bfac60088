import { isIPv4, isIPv6 } from 'node:net'

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i

/** IPv4 address, also of an IPv4-mapped one; an IPv6 address by its first groups of 16 bits; any other text unchanged. */
const keyOf = (address: string, most: number): string => {
  const plain = address.split('%', 1)[0]!
  const ipv4 = plain.replace(MAPPED, '')
  if (isIPv4(ipv4) || !isIPv6(plain)) return ipv4
  const [head = '', tail] = plain.split('::')
  const first = head === '' ? [] : head.split(':')
  const last =
    tail === undefined || tail === ''
      ? []
      : tail.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]))
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...last].slice(0, most)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/${most * 16}`
}

/** Key of an address in rate limits: IPv4 (also IPv4-mapped) unchanged, IPv6 by its first 64 bits. */
export const addressKey = (address: string): string => keyOf(address, 4)

/** Key of the network of an address: IPv4 by its first 24 bits, IPv6 by its first 48 bits. */
export const networkKey = (address: string): string => keyOf(address, 3).replace(/\.\d+$/, '.0/24')
