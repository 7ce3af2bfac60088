import { isIP } from 'node:net'
import { HOST_NAME } from '../auth/outgoing/hosts.ts'
import { list } from './collections.ts'
import type { SettingKind } from './setting.ts'
import { bool, type Check, named, textual } from './types.ts'

/** Host name; a scheme, a port and a path are removed. */
export const host = textual('host name', {
  fix: (value) => value.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/(:\d*)?(\/.*)?$/, ''),
  check: (value) => (HOST_NAME.test(value) ? undefined : 'must be a host name'),
})

/** Listen address or host name; an IPv6 address may be in brackets. */
export const listenHost = textual('text', { fix: (value) => value.replace(/^\[([^\]]*)\]$/, '$1') })

/** Host name, or with a leading dot all names below it. */
export const hostOrBelow = textual('host name', {
  check: (value) =>
    HOST_NAME.test(value) ? undefined : 'must be a host name such as flags.example.com, or .example.com',
})

/** Path of traces at a collector (OpenTelemetry protocol). */
export const TRACES = '/v1/traces'

const webAddress: Check = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(value))
    return 'must be an http or https URL'
  if (/[{}<>]/.test(value)) return 'must not be a template: replace the part in brackets'
  if (url.username !== '' || url.password !== '') return 'must not contain credentials'
  return url.search !== '' || url.hash !== '' || /[?#\s]/.test(value)
    ? 'must not contain a query or a fragment'
    : undefined
}
const cutSlashes = (value: string): string => value.replace(/\/+$/, '')
/** An http or https URL without trailing slashes. */
export const url = textual('URL', { check: webAddress, fix: cutSlashes, schema: { format: 'uri' } })
const without = (part: RegExp, problem: string): SettingKind<string> =>
  textual('URL', {
    check: (value) => webAddress(value) ?? (part.test(value) ? problem : undefined),
    fix: cutSlashes,
    schema: { format: 'uri' },
  })
/** Base URL of this service, to which it adds paths of its own. */
export const baseUrl = without(/\/auth\/v1(?:\/|$)/, 'must be the base URL, without /auth/v1/… of the callback')
/** URL of the API server of a cluster. */
export const clusterUrl = without(
  /\/\.well-known(?:\/|$)/,
  'must be the API server, without /.well-known/… of the document',
)
/** Addresses of a provider that serve every tenant. The issuer in their document is that of no tenant. */
const ANY_TENANT = /^https:\/\/login\.microsoftonline\.com\/(?:common|organizations|consumers)(?:\/|$)/i
/** Issuer. The URL is compared byte for byte, so it is kept unchanged. */
export const issuer = textual('URL', {
  check: (value) => {
    if (/\/\.well-known\//.test(value)) return 'must be the issuer, without /.well-known/…'
    return ANY_TENANT.test(value) ? 'must be the issuer of one tenant: write its id instead' : webAddress(value)
  },
  schema: { format: 'uri' },
})
/** URL of a document, which may have a query. */
export const documentUrl = textual('URL', {
  check: (value) => webAddress(value.replace(/\?[^#\s]*$/, '')),
  schema: { format: 'uri' },
})
/**
 * URL of a collector of traces. An address without a path gets the path of the protocol; an object `URL` is used
 * unchanged.
 */
export const collectorUrl: SettingKind<string> = {
  ...documentUrl,
  read: (value, fault) => {
    if (value instanceof URL) return documentUrl.read(value.href, fault)
    const read = documentUrl.read(value, fault)
    const address = read === undefined ? undefined : new URL(read)
    return address?.pathname === '/' ? address.origin + TRACES + address.search : read
  },
}
export const origin = textual('origin', {
  check: (value) =>
    webAddress(value) === undefined && new URL(value).origin === value && !value.includes('*')
      ? undefined
      : 'must be an origin such as https://app.example.com, without * and path',
})
export const originOrAll = textual('origin', {
  check: (value) =>
    value === '*'
      ? undefined
      : origin.read(value, () => undefined)
        ? undefined
        : 'must be * or an origin such as https://app.example.com, without * and path',
})
/** Connection URL of a server. Shown only if it cannot contain a credential. */
export const connection = (...schemes: readonly string[]): SettingKind<string> =>
  textual('connection URL', {
    check: (value) =>
      schemes.some((scheme) => value.startsWith(`${scheme}://`) && value.length > scheme.length + 3)
        ? undefined
        : `must begin with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    show: (value) => (/[@?]/.test(value) ? undefined : value),
  })

/** Local address and port, as `host:port` or `[IPv6]:port`. */
export const placeOf = (value: string): { readonly host: string; readonly port: number } | undefined => {
  const [, six, name, port = ''] = /^(?:\[([^\]]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(value) ?? []
  const host = six ?? name
  return host === undefined || Number(port) > 65_535 || (six !== undefined && isIP(six) !== 6)
    ? undefined
    : { host, port: Number(port) }
}
export const listener = textual('host:port', {
  check: (value) => (placeOf(value) ? undefined : 'must be an address and a port such as 127.0.0.1:9090'),
})

const isNetwork = (value: unknown): value is string => {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(String(value)) ?? []
  const version = isIP(address)
  return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128)
}
/** `true`, `false`, or a list of addresses and CIDRs. */
export const proxies: SettingKind<boolean | readonly string[]> = {
  words: 'true, false or a list of addresses and CIDRs',
  read: (value, fault) => {
    if (typeof value === 'boolean') return value
    if (!Array.isArray(value)) return fault(`expected true, false or a list, got ${named(value)}`)
    for (const [n, entry] of value.entries()) if (!isNetwork(entry)) fault('must be an IP address or a CIDR', `[${n}]`)
    return value.filter(isNetwork)
  },
  parse: (text) => (typeof bool.parse(text) === 'boolean' ? bool.parse(text) : list(textual('address')).parse(text)),
  show: (value) => value,
  schema: { oneOf: [{ type: 'boolean' }, { type: 'array', items: { type: 'string' } }] },
}
