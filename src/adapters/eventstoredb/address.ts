import type { Credentials } from '@eventstore/db-client'
import { wrongWithFile } from '../named-file.ts'

/** Connection strings for the leader and for following, and the credentials. */
type Address = {
  readonly leader: string
  readonly follower: string
  readonly credentials: Credentials
  /** Files of certificates and keys that the address names. */
  readonly files: readonly string[]
}

const SHAPE = /^(?:esdb|kurrentdb)(\+discover)?:\/\/(?:([^:@/?]*)(?::([^?]*))?@)?([^@/?]+)\/*(?:\?(.+))?$/
const HOST = /^[^:\s]+(?::\d+)?$/
/**
 * Options that the driver supports, in its normalized form. For any other option the driver would log a warning with
 * the address, including the password.
 */
const OPTIONS = new Set(
  'tls tlsCAFile userCertFile userKeyFile connectionName nodePreference gossipTimeout discoveryInterval maxDiscoverAttempts keepAliveInterval keepAliveTimeout defaultDeadline throwOnAppendFailure'
    .toLowerCase()
    .split(' '),
)
const FILES = ['tlscafile', 'usercertfile', 'userkeyfile']
const flat = (key: string) => key.trim().toLowerCase().replace(/[_-]/g, '')

const SUBJECT = 'the address of EventStoreDB '
const wrong = (problem: string): never => {
  throw new Error(SUBJECT + problem)
}
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return wrong('has an invalid percent-encoding in its user name or password: write % as %25')
  }
}

/**
 * Parses `esdb://[name:password@]host[:port][,host…][?option=value&…]`, also with `kurrentdb`. Errors never repeat the
 * address, because it may hold a password. `esdb+discover://` would use only the first of several hosts, so several
 * hosts are passed without it. The operator's node preference applies to following; all other calls go to the leader.
 */
export const addressOf = (url: string): Address => {
  const [, discover = '', name, password, hosts, query = ''] = SHAPE.exec(url.trim()) ?? []
  if (hosts === undefined || !hosts.split(',').every((host) => HOST.test(host)))
    return wrong('is invalid: expected esdb://name:password@host:2113,host:2113?option=value')
  if (name === '') wrong('has a password but no user')
  if (name !== undefined && !password) wrong('has a user but no password')
  const given = query.split('&').filter((option) => option !== '')
  const options = new Map(
    given.map((option) => [flat(option.split('=', 1)[0]!), option.slice(option.indexOf('=') + 1)]),
  )
  if (options.get('tlsverifycert') === 'false')
    wrong('must not disable certificate verification: set tlsCAFile to the file of the certificate authority')
  for (const key of options.keys())
    if (!OPTIONS.has(key) && key !== 'tlsverifycert')
      wrong(`has an unknown option${/^[a-z]+$/.test(key) ? `: ${key}` : ''}`)
  if (name === undefined && options.get('tls') !== 'false')
    wrong('has no user: write esdb://name:password@host:2113, or add ?tls=false')

  // Credentials on the call make the driver use the unary append; without TLS the driver does not send them.
  const credentials = { username: decoded(name ?? 'none'), password: decoded(password ?? 'none') }
  const user =
    name === undefined ? '' : `${encodeURIComponent(credentials.username)}:${encodeURIComponent(credentials.password)}@`
  const base = `esdb${hosts.includes(',') ? '' : discover}://${user}${hosts}`
  // The driver uses the last value of a repeated option. One discovery attempt per call is enough, because callers
  // retry.
  const all = [
    'gossipTimeout=1',
    'maxDiscoverAttempts=1',
    'nodePreference=follower',
    ...given,
    'throwOnAppendFailure=true',
  ].join('&')
  const files = FILES.flatMap((key) => options.get(key) ?? []).map(decoded)
  return { leader: `${base}?${all}&nodePreference=leader`, follower: `${base}?${all}`, credentials, files }
}

/**
 * Returns the first problem of an address that can be found without connecting to a server (syntax, options, or the
 * files that it names); undefined if it has none.
 */
export const wrongWith = (url: string): string | undefined => {
  try {
    const [unread] = addressOf(url).files.flatMap((path) => wrongWithFile(path) ?? [])
    return unread
  } catch (error) {
    return (error as Error).message.replace(SUBJECT, '')
  }
}
