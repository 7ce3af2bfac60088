import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { Settings } from '../services/commands.ts'

export const FOREIGN_HOST =
  'a request without a credential is refused, because the name in its Host header is unknown; if the name belongs to this service, add it to server.allowed_hosts'

/** Host name of a Host header, in lower case, without port and brackets. */
const nameOf = (host: string): string =>
  host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()

/**
 * Tests whether a request names a host of this service. In DNS rebinding, a page's host name is later pointed at this
 * service; therefore only names that others cannot point here are accepted. Such names are addresses, names without a
 * dot, `localhost`, the machine's name, the host of `publicUrl`, and allowed hosts (`.example.com` covers every name
 * below it).
 */
export const ownHost = (publicUrl: string | undefined, allowed: readonly string[]) => {
  const names = new Set(['localhost', hostname().toLowerCase()])
  if (publicUrl !== undefined) names.add(nameOf(new URL(publicUrl).hostname))
  for (const name of allowed) names.add(name.toLowerCase())
  const endings = ['.localhost', ...allowed.filter((name) => name.startsWith('.')).map((name) => name.toLowerCase())]
  return (host: string | undefined): boolean => {
    if (host === undefined || host === '') return true
    const name = nameOf(host)
    return isIP(name) !== 0 || !name.includes('.') || names.has(name) || endings.some((ending) => name.endsWith(ending))
  }
}

/** Hosts accepted for requests without a credential: every host if management requires a credential. */
export const hostsLetIn = ({ required, exclude, publicUrl, allowedHosts }: Settings) =>
  required && !exclude.management ? () => true : ownHost(publicUrl, allowedHosts)
