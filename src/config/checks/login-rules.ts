import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { isLoopback } from '../../auth/outgoing/hosts.ts'
import type { LoginKind } from '../../events/login.ts'
import type { Finding } from '../problem.ts'
import type { Config } from '../settings.ts'

const hostOf = (url: string): string => new URL(url).hostname.toLowerCase()

/** Returns true if a host can set and receive cookies of a domain. */
const covers = (domain: string, host: string): boolean => host === domain || host.endsWith(`.${domain}`)

/** Returns true for a public suffix (publicsuffix.org). The list is loaded on demand, because loading takes 25 ms. */
const isPublicSuffix = (name: string): boolean => {
  const { getPublicSuffix } = createRequire(import.meta.url)('tldts') as typeof import('tldts')
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name
}

const domainFinding = (domain: string | undefined, host: string | undefined): string | false => {
  if (domain === undefined || domain === 'localhost') return false
  const name = domain.replace(/^\./, '').toLowerCase()
  if (isIP(name) !== 0) return name !== host && 'must be a domain name; without one the cookies are limited to the host'
  if (!name.includes('.')) return name !== host && 'must contain a dot: browsers reject cookies for domains without one'
  if (name !== host && isPublicSuffix(name))
    return 'is a public suffix, shared by unrelated domains: browsers reject cookies for it'
  return (
    host !== undefined &&
    !covers(name, host) &&
    'must be the host of server.public_url or a parent domain: browsers reject cookies for others'
  )
}

/** The redirect host must receive the cookie that the login set at its start. */
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
      'must have the same host as server.public_url, or session.domain must be a parent domain of both hosts: otherwise browsers do not send the login cookie to this address',
  ]
}

/** A user certificate and its key must be set together. */
const certificate = (url: string | undefined): string | false => {
  const names = new Set(Array.from(new URLSearchParams(url?.split('?')[1] ?? '').keys(), (name) => name.toLowerCase()))
  const [cert, key] = ['usercertfile', 'userkeyfile'].map((name) => names.has(name))
  return (
    cert !== key &&
    `has ${cert ? 'userCertFile without userKeyFile' : 'userKeyFile without userCertFile'}: set both or neither`
  )
}

/** Problems of login addresses, of cookies, and of certificates in the event store address. */
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
      session.secure && isPlain && 'is true, but server.public_url is http: browsers would drop the cookies',
    ],
    ...Object.values(returns).flat(),
  ]
}
