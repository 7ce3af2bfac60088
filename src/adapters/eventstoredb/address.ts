import type { Credentials } from '@eventstore/db-client'
import { wrongWithFile } from '../named-file.ts'

/** What the driver is told: once to go to the leader, once to follow, and who calls. */
export type Address = {
  readonly leader: string
  readonly follower: string
  readonly credentials: Credentials
  /** Certificates and keys that it names. */
  readonly files: readonly string[]
}

const SHAPE = /^(?:esdb|kurrentdb)(\+discover)?:\/\/(?:([^:@/?]*)(?::([^?]*))?@)?([^@/?]+)\/*(?:\?(.+))?$/
const HOST = /^[^:\s]+(?::\d+)?$/
/** What the driver knows, as it compares the names. Of any other it would warn by printing the address, and with it the password. */
const OPTIONS = new Set(
  'tls tlsCAFile userCertFile userKeyFile connectionName nodePreference gossipTimeout discoveryInterval maxDiscoverAttempts keepAliveInterval keepAliveTimeout defaultDeadline throwOnAppendFailure'
    .toLowerCase()
    .split(' '),
)
const FILES = ['tlscafile', 'usercertfile', 'userkeyfile']
const flat = (key: string) => key.trim().toLowerCase().replace(/[_-]/g, '')

const SUBJECT = 'the address of EventStoreDB '
const wrong = (what: string): never => {
  throw new Error(SUBJECT + what)
}
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return wrong('has a % in its name or password that must be written %25')
  }
}

/**
 * Reads `esdb://[name:password@]host[:port][,host…][?option=value&…]`, or the same with `kurrentdb`; an error never repeats it, for it may hold a password.
 * `esdb+discover://` would use only the first of several hosts, so those are named as they are. Whatever node the operator
 * prefers is preferred for following: what needs the leader goes to the leader.
 */
export const addressOf = (url: string): Address => {
  const [, discover = '', name, password, hosts, query = ''] = SHAPE.exec(url.trim()) ?? []
  if (hosts === undefined || !hosts.split(',').every((host) => HOST.test(host)))
    return wrong('is none: it reads esdb://name:password@host:2113,host:2113?option=value')
  if (name === '') wrong('has a password and names no user')
  if (name !== undefined && !password) wrong('names a user and has no password')
  const given = query.split('&').filter((option) => option !== '')
  const options = new Map(
    given.map((option) => [flat(option.split('=', 1)[0]!), option.slice(option.indexOf('=') + 1)]),
  )
  if (options.get('tlsverifycert') === 'false')
    wrong('cannot switch the check of certificates off: name the authority with tlsCAFile')
  for (const key of options.keys())
    if (!OPTIONS.has(key) && key !== 'tlsverifycert')
      wrong(`has an option that there is not${/^[a-z]+$/.test(key) ? `: ${key}` : ''}`)
  if (name === undefined && options.get('tls') !== 'false')
    wrong('names no user: esdb://name:password@host:2113, or ?tls=false')

  // Credentials at the call choose the unary append; without TLS the driver does not send them.
  const credentials = { username: decoded(name ?? 'none'), password: decoded(password ?? 'none') }
  const user =
    name === undefined ? '' : `${encodeURIComponent(credentials.username)}:${encodeURIComponent(credentials.password)}@`
  const base = `esdb${hosts.includes(',') ? '' : discover}://${user}${hosts}`
  // Of an option that is given twice the driver takes the last. It looks for the cluster once a call: who calls tries again.
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

/** What keeps an address from ever being right, the files that it names among it; undefined where only the server can tell. No server is asked. */
export const wrongWith = (url: string): string | undefined => {
  try {
    const [unread] = addressOf(url).files.flatMap((path) => wrongWithFile(path) ?? [])
    return unread
  } catch (error) {
    return (error as Error).message.replace(SUBJECT, '')
  }
}
