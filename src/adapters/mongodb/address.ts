import { MongoClient } from 'mongodb'
import { wrongWithFile } from '../named-file.ts'
import { unusableOption } from './client-options.ts'

/**
 * Driver messages about an address that repeat no part of it. Each part of an address may contain a user, a password or
 * a session token.
 */
const HARMLESS = [
  /^options? [\w, ]+ (?:is|are) not supported/,
  /^URI contained empty userinfo section/,
  /^(?:Username|Password) contains unescaped characters/,
  /^URI malformed/,
  /^Protocol and host list are required in the uri/,
  /^tls\/ssl must be either "true" or "false"/,
  /^Expected \w+ to be [\w ]+/,
  /^URI option "\w+" cannot be specified with no value/,
  /^Invalid read preference mode/,
  /^\w+ option requires [\w ]+/,
  /^authMechanism one of [\w,-]+/,
]

/** The driver omits the write concern if the address has none, although its type requires one. */
type AddressOptions = Pick<MongoClient['options'], 'readPreference'> &
  Partial<Pick<MongoClient['options'], 'writeConcern'>>

/** Problem of an option that would allow stale reads or the loss of acknowledged writes. */
const unsafe = ({ readPreference, writeConcern = {} }: AddressOptions): string | undefined => {
  if (readPreference.mode !== 'primary')
    return `sets readPreference to ${readPreference.mode}: only primary always has the latest writes`
  const { w = 'majority', journal = true } = writeConcern
  if (w !== 'majority') return 'sets w to a value other than majority: acknowledged writes could be lost'
  return journal ? undefined : 'sets journal=false: acknowledged writes could be lost'
}

/**
 * Returns the first problem of an address that can be found without connecting to a server (syntax, options, or the
 * files that it names); undefined if it has none.
 */
export const wrongWith = (url: string): string | undefined => {
  try {
    const { options } = new MongoClient(url)
    const { tlsCAFile, tlsCertificateKeyFile, tlsCRLFile } = options
    const problem = unsafe(options)
    if (problem !== undefined) return problem
    const unusable = unusableOption(url)
    if (unusable !== undefined) return unusable
    return [tlsCAFile, tlsCertificateKeyFile, tlsCRLFile].flatMap((path) => (path && wrongWithFile(path)) ?? [])[0]
  } catch (error) {
    const message = (error as Error).message
    const reason = HARMLESS.flatMap((form) => form.exec(message)?.[0] ?? [])[0]
    return reason === undefined ? 'cannot be read' : `cannot be read: ${reason}`
  }
}
