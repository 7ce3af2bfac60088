import { DIRECT, wrongWithPrivateHost, wrongWithProxy } from '../../auth/outgoing/hosts.ts'
import { list } from '../collections.ts'
import { type Derived, setting } from '../setting.ts'
import { path, text, textual } from '../types.ts'

const none = undefined

/** Hides a URL that may contain a password. */
const show = (value: string): string | undefined => (value.includes('@') ? undefined : value)
/** Proxy from the usual variables. The proxy is checked only if a login method or a witness uses it. */
const proxy = textual('proxy URL', { show })
const proxyOrNone = textual(`proxy URL or \`${DIRECT}\``, {
  check: (value) => (value === DIRECT ? undefined : wrongWithProxy(value)),
  show,
})
const privateHost = textual('host', { check: wrongWithPrivateHost })

const usual = <T>(name: string, otherwise: T): Derived<T> => ({
  shown: `the variable \`${name}\`, or \`${name.toUpperCase()}\``,
  from: () => otherwise,
})

/** Settings of outgoing connections to providers, the code host, the cluster and witnesses. */
export const outgoing = {
  https_proxy: setting(
    proxy,
    usual<string | undefined>('https_proxy', none),
    'Proxy for https requests to providers, the code host, the cluster and witnesses; not used for loopback.',
  ),
  http_proxy: setting(
    proxy,
    usual<string | undefined>('http_proxy', none),
    'Proxy for http requests to providers, the code host and the cluster; not used for loopback.',
  ),
  no_proxy: setting(
    list(text),
    usual<readonly string[]>('no_proxy', []),
    'Hosts to which Rollcall connects without a proxy: names (including their subdomains), addresses and networks, optionally with a port. The entry * stands for all hosts.',
  ),
  http_hosts: setting(
    list(privateHost),
    [],
    'Private hosts for which plain http is allowed: names, .example.internal for all names below a domain, and addresses and networks of RFC 1918 or fc00::/7. Loopback is always allowed.',
  ),
}

/** Setting for the certificate authority of a remote service. */
export const authority = (remote: string) =>
  setting(
    path,
    none,
    `File with the certificate authority of the ${remote} (PEM), in addition to those of the system; reloaded when it changes.`,
  )

/** Setting for the proxy of a remote service. */
export const ownProxy = (remote: string) =>
  setting(
    proxyOrNone,
    none,
    `Proxy for the ${remote}, instead of the proxies under outgoing. The value ${DIRECT} stands for no proxy. A user name and a password are written before the host, as in http://name:password@host:3128.`,
  )
