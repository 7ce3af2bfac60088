import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { bytesNow } from '../../base/regular-file.ts'
import { wrongWithFile } from '../named-file.ts'

/**
 * Address and credentials of Redis. `url` has the form `redis://[name:password@]host[:port][,host[:port]…][/database]`;
 * `rediss` uses TLS.
 */
export type RedisPlace = {
  readonly url: string
  /** Kind of the hosts: one server (default), nodes of a Redis Cluster, or Sentinels that watch `master`. */
  readonly mode?: 'single' | 'cluster' | 'sentinel'
  readonly master?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly sentinel_username?: string | undefined
  readonly sentinel_password?: string | undefined
  readonly ca_file?: string | undefined
  readonly cert_file?: string | undefined
  readonly cert_key?: string | undefined
}
type Wrong = readonly [setting: keyof RedisPlace, description: string]

const FORM = 'is invalid: expected redis://name:password@host:6379/0'
const PORTS = { single: 6379, cluster: 6379, sentinel: 26_379 } as const

const parts = (url: string) => {
  const rest = url.replace(/^rediss?:\/\//, '')
  const at = rest.lastIndexOf('@')
  const [hosts = '', ...path] = rest.slice(at + 1).split('/')
  const [name = '', ...secret] = at < 0 ? [] : rest.slice(0, at).split(':')
  return { name, password: secret.join(':'), hosts: hosts.split(','), database: path.join('/') }
}

/** Problem of one host of an address. */
const wrongWithHost = (host: string): string | undefined => {
  if (host === '' || host.startsWith(':')) return 'has no host'
  if (/[?#]/.test(host)) return 'has options after the address, which Redis does not support'
  return URL.canParse(`redis://${host}`) && !/[@\s%]/.test(host) ? undefined : FORM
}

const isEncoded = (text: string): boolean =>
  !/[/?#\s]|%(?![0-9A-Fa-f]{2})/.test(text) && URL.canParse(`redis://${text}@h`)

const wrongWithUrl = ({ url, mode = 'single', ...place }: RedisPlace): string | undefined => {
  const { name, password, hosts, database } = parts(url)
  const wrong = hosts.flatMap((host) => wrongWithHost(host) ?? [])[0]
  if (wrong !== undefined) return wrong
  if (!isEncoded(`${name}:${password}`))
    return `${FORM}, with special characters of name and password escaped as in %40`
  if (!/^\d{0,9}$/.test(database)) return 'has a database that is not a number'
  if (mode === 'single' && hosts.length > 1) return 'has several hosts: set redis.mode to cluster or sentinel'
  if (mode === 'cluster' && Number(database) > 0)
    return 'names a database other than 0, but a Redis Cluster has only database 0'
  if (name !== '' && password === '' && place.password === undefined) return 'has a user but no password'
  return undefined
}

const certificates = ({ ca_file, cert_file, cert_key }: RedisPlace): SecureContextOptions => ({
  ...(ca_file !== undefined && { ca: bytesNow(ca_file) }),
  ...(cert_file !== undefined && { cert: bytesNow(cert_file) }),
  ...(cert_key !== undefined && { key: bytesNow(cert_key) }),
})

const FILES = ['ca_file', 'cert_file', 'cert_key'] as const

/** Checks a certificate file, because a secure context silently accepts an authority without certificates. */
const holdsCertificate = (path: string): boolean => {
  try {
    return new X509Certificate(bytesNow(path)).raw.length > 0
  } catch {
    return false
  }
}

const wrongWithFiles = (place: RedisPlace): readonly Wrong[] => {
  const given = FILES.filter((file) => place[file] !== undefined)
  if (!place.url.startsWith('rediss:'))
    return given.map((file) => [file, 'requires TLS, but redis.url does not begin with rediss://'])
  const missing = given.flatMap((file): readonly Wrong[] => {
    const wrong = wrongWithFile(place[file]!)
    return wrong === undefined ? [] : [[file, wrong]]
  })
  if (missing.length > 0) return missing
  if ((place.cert_file === undefined) !== (place.cert_key === undefined))
    return [['cert_file', 'and cert_key must be set together']]
  if (place.ca_file !== undefined && !holdsCertificate(place.ca_file))
    return [['ca_file', 'contains no certificate in PEM format']]
  try {
    createSecureContext(certificates({ ...place, ca_file: undefined }))
  } catch {
    return [['cert_file', 'and cert_key are not a certificate and its private key in PEM format']]
  }
  return []
}

/** Problems of the Redis settings that can be found without a server. Never repeats any part of the address. */
export const wrongWith = (place: RedisPlace): readonly Wrong[] => {
  const { mode = 'single', url, master } = place
  const { name, password } = parts(url)
  const found: readonly (readonly [keyof RedisPlace, string | false | undefined])[] = [
    ['url', wrongWithUrl(place)],
    ['master', mode === 'sentinel' && master === undefined && 'is required when redis.mode is sentinel'],
    ['master', mode !== 'sentinel' && master !== undefined && 'is for redis.mode sentinel'],
    ...(['sentinel_username', 'sentinel_password'] as const).map(
      (key) => [key, mode !== 'sentinel' && place[key] !== undefined && 'is for redis.mode sentinel'] as const,
    ),
    ['username', place.username !== undefined && name !== '' && 'is set twice: redis.url has a user'],
    ['password', place.password !== undefined && password !== '' && 'is set twice: redis.url has a password'],
    [
      'username',
      place.username !== undefined && password === '' && place.password === undefined && 'needs redis.password',
    ],
  ]
  return [
    ...found.flatMap(([key, problem]): readonly Wrong[] => (problem ? [[key, problem]] : [])),
    ...wrongWithFiles(place),
  ]
}

const given = <T extends object>(values: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as ReturnType<typeof given<T>>

/** Address in the format of the driver. Reads the certificate files of the Redis connection. */
export const addressOf = (place: RedisPlace) => {
  const { url, mode = 'single', master = '' } = place
  const { name, password, hosts, database } = parts(url)
  return {
    mode,
    master,
    nodes: hosts.map((host) => {
      const { hostname, port } = new URL(`redis://${host}`)
      return { host: hostname.replaceAll(/[[\]]/g, ''), port: port === '' ? PORTS[mode] : Number(port) }
    }),
    credentials: given({
      username: name === '' ? place.username : decodeURIComponent(name),
      password: password === '' ? place.password : decodeURIComponent(password),
    }),
    sentinel: given({ sentinelUsername: place.sentinel_username, sentinelPassword: place.sentinel_password }),
    database: Number(database),
    tls: url.startsWith('rediss:') ? certificates(place) : undefined,
  } as const
}

export type Address = ReturnType<typeof addressOf>
