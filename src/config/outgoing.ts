import { wrongWithPrivateHost } from '../auth/hosts.ts'
import { DIRECT, wrongWithProxy } from '../auth/proxies.ts'
import { list } from './collections.ts'
import { type Derived, setting } from './setting.ts'
import { path, text, textual } from './types.ts'

const none = undefined

/** Shown only when it cannot hold a password. */
const show = (value: string): string | undefined => (value.includes('@') ? undefined : value)
/** Those of the usual variables are looked at where something goes through them. */
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

/** How providers, the code host and the cluster are reached, as far as it is the same for all of them. */
export const outgoing = {
  https_proxy: setting(
    proxy,
    usual<string | undefined>('https_proxy', none),
    'Proxy through which https addresses of providers, code host and cluster are asked; loopback never is.',
  ),
  http_proxy: setting(
    proxy,
    usual<string | undefined>('http_proxy', none),
    'Proxy through which their http addresses are asked; loopback never is.',
  ),
  no_proxy: setting(
    list(text),
    usual<readonly string[]>('no_proxy', []),
    'Hosts that are asked without these proxies: names, each with all below it, addresses, networks, with a port or without; * for all.',
  ),
  http_hosts: setting(
    list(privateHost),
    [],
    'Private hosts that may be asked over plain http: names, .example.internal for all below one, addresses and networks of RFC 1918 or fc00::/7. Loopback always may.',
  ),
}

/** The authority of one of them. */
export const authority = (whom: string) =>
  setting(
    path,
    none,
    `File with the certificate authority of the ${whom} (PEM), which counts beside those of the system; read again when it changes.`,
  )

/** The proxy of one of them. */
export const ownProxy = (whom: string) =>
  setting(
    proxyOrNone,
    none,
    `Proxy through which the ${whom} is asked, whatever outgoing says; ${DIRECT}: directly. A name and a password for it stand before an @.`,
  )
