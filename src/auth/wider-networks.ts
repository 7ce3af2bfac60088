import { isIPv4 } from 'node:net'

const IPV6 = /^((\p{AHex}{1,4}:\p{AHex}{1,4}):\p{AHex}{1,4}):\p{AHex}{1,4}::\/64$/u

/**
 * Returns the two wider networks of a client network: /48 and /32 of an IPv6 /64, /24 and /16 of an IPv4 address. The
 * text up to the last space of the key is kept as a prefix. Returns undefined if the key does not end with a network.
 */
export const widerNetworks = (key: string): readonly [string, string] | undefined => {
  const start = key.lastIndexOf(' ') + 1
  const [front, network] = [key.slice(0, start), key.slice(start)]
  const [, narrow, wide] = IPV6.exec(network) ?? []
  if (narrow !== undefined) return [`${front}${narrow}::/48`, `${front}${wide}::/32`]
  if (!isIPv4(network)) return undefined
  const [first, second, third] = network.split('.')
  return [`${front}${first}.${second}.${third}.0/24`, `${front}${first}.${second}.0.0/16`]
}
