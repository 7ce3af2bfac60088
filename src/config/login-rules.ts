import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { isLoopback } from '../auth/hosts.ts'
import type { LoginKind } from '../events/login.ts'
import type { Finding } from './problem.ts'
import type { Config } from './settings.ts'

const hostOf = (url: string): string => new URL(url).hostname.toLowerCase()

/** Whether a cookie of a domain is taken from, and sent to, a host. */
const covers = (domain: string, host: string): boolean => host === domain || host.endsWith(`.${domain}`)

/** Whether anybody has a domain under this one (publicsuffix.org). The list takes 25 ms to load: only who sets a domain waits for it. */
const isPublicSuffix = (name: string): boolean => {
  const { getPublicSuffix } = createRequire(import.meta.url)('tldts') as typeof import('tldts')
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name
}

const domainFinding = (domain: string | undefined, host: string | undefined): string | false => {
  if (domain === undefined || domain === 'localhost') return false
  const name = domain.replace(/^\./, '').toLowerCase()
  if (isIP(name) !== 0) return name !== host && 'must be a domain name; without it the cookies are of the host alone'
  if (!name.includes('.')) return name !== host && 'is a domain that browsers take no cookie for: it needs a dot'
  if (name !== host && isPublicSuffix(name))
    return 'is a public suffix, under which anybody has a domain: browsers take no cookie for it'
  return (
    host !== undefined &&
    !covers(name, host) &&
    'must be the host of server.public_url or a domain above it: browsers take no other'
  )
}

/** Where a browser comes back to must have the cookie that it was given where it began. */
const returning = (key: string, address: string | undefined, { server, authentication }: Config): Finding => {
  const { public_url } = server
  if (address === undefined || public_url === undefined) return [key, false]
  const hosts = [address, public_url].map(hostOf)
  const domain = authentication.session.domain?.replace(/^\./, '').toLowerCase()
  const isShared = domain !== undefined && hosts.every((host) => covers(domain, host))
  return [
    key,
    new Set(hosts).size > 1 &&
      !isShared &&
      'must have the host of server.public_url, or session.domain must be a domain above both: else the cookie of a login is not sent there',
  ]
}

/** A user certificate is given with its key or not at all. */
const certificate = (url: string | undefined): string | false => {
  const names = new Set(Array.from(new URLSearchParams(url?.split('?')[1] ?? '').keys(), (name) => name.toLowerCase()))
  const [cert, key] = ['usercertfile', 'userkeyfile'].map((name) => names.has(name))
  return (
    cert !== key &&
    `has ${cert ? 'userCertFile without userKeyFile' : 'userKeyFile without userCertFile'}: both, or neither`
  )
}

/** What is wrong with the addresses and cookies that logins go by, and with what an address of a store names. */
export const loginFindings = (config: Config): readonly Finding[] => {
  const { server, authentication } = config
  const { session, methods } = authentication
  const host = server.public_url === undefined ? undefined : hostOf(server.public_url)
  const isPlain =
    server.public_url !== undefined && /^http:/i.test(server.public_url) && !isLoopback(new URL(server.public_url))
  const base = 'authentication.methods'
  const returns: Readonly<Record<LoginKind, readonly Finding[]>> = {
    oidc: Array.from(methods.oidc.providers, ([name, { redirect_address }]) =>
      returning(`${base}.oidc.providers.${name}.redirect_address`, redirect_address, config),
    ),
    codehost: [returning(`${base}.codehost.redirect_address`, methods.codehost.redirect_address, config)],
  }
  return [
    ['eventstore.url', certificate(config.eventstore.url)],
    ['authentication.session.domain', domainFinding(session.domain, host)],
    [
      'authentication.session.secure',
      session.secure && isPlain && 'is true, and server.public_url is http: browsers would drop the cookies',
    ],
    ...Object.values(returns).flat(),
  ]
}
