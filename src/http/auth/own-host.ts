import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { InstanceServices } from '../services/instance.ts'

export const FOREIGN_HOST =
  'a request without a credential named a host that is not ours and was refused; if it is yours, add it to server.allowed_hosts'

/** The name in a Host header, without its port and brackets, in lower case. */
const nameOf = (host: string): string =>
  host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()

/**
 * Whether a request is for a host of ours. A page on a name that its owner points at this service afterwards (DNS rebinding) sends that name, so
 * only names count that nobody else can point here: addresses, names without a dot, `localhost`, that of this machine, that of
 * `publicUrl`, and those that the operator allows (`.example.com` stands for every name below it).
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

/** The hosts by which somebody without a credential is let in: any, where nobody is to management. */
export const hostsLetIn = ({ required, exclude, publicUrl, allowedHosts }: InstanceServices['settings']) =>
  required && !exclude.management ? () => true : ownHost(publicUrl, allowedHosts)
