import { MongoClient } from 'mongodb'
import { wrongWithFile } from '../named-file.ts'

/** What the driver says of an address without repeating any of it: a user, a password or a session token may stand anywhere in one. */
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

/** The driver leaves the write concern out where the address names none, though its type has one always. */
type AddressOptions = Pick<MongoClient['options'], 'readPreference'> &
  Partial<Pick<MongoClient['options'], 'writeConcern'>>

/** An option that would let a read miss what was just written, or a write be lost after it was acknowledged. */
const unsafe = ({ readPreference, writeConcern = {} }: AddressOptions): string | undefined => {
  if (readPreference.mode !== 'primary')
    return `asks for readPreference ${readPreference.mode}: only primary is sure to have what was just written`
  const { w = 'majority', journal = true } = writeConcern
  if (w !== 'majority') return 'asks for a w other than majority: a write could be acknowledged and lost'
  return journal ? undefined : 'asks for journal=false: a write could be acknowledged and lost'
}

/** What keeps an address from ever being right, as the driver reads it, the files that it names among it; undefined where only the server can tell. No server is asked. */
export const wrongWith = (url: string): string | undefined => {
  try {
    const { options } = new MongoClient(url)
    const { tlsCAFile, tlsCertificateKeyFile, tlsCRLFile } = options
    const said = unsafe(options)
    if (said !== undefined) return said
    return [tlsCAFile, tlsCertificateKeyFile, tlsCRLFile].flatMap((path) => (path && wrongWithFile(path)) ?? [])[0]
  } catch (error) {
    const message = (error as Error).message
    const said = HARMLESS.flatMap((form) => form.exec(message)?.[0] ?? [])[0]
    return said === undefined ? 'cannot be read' : `cannot be read: ${said}`
  }
}
