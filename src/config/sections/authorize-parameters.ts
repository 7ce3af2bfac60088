import { map } from '../collections.ts'
import type { SettingKind } from '../setting.ts'
import { anyText } from '../types.ts'

const MOST = 16
const NAME = /^[A-Za-z0-9_.~-]{1,64}$/
const VALUE = /^[^\p{Cc}]{1,1024}$/u
/** Parameters that a login sends itself, or that would change the provider's way of answering. */
const PROTOCOL: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
  'dpop_jkt',
])

const problemOf = (name: string, value: string): string | undefined => {
  if (PROTOCOL.has(name.toLowerCase())) return 'is reserved: Rollcall sends this parameter itself'
  if (!NAME.test(name)) return 'is not a valid parameter name: use at most 64 letters, digits and _ . ~ -'
  if (!VALUE.test(value)) return 'must be 1 to 1024 characters on one line'
  return name === 'max_age' && !/^\d{1,9}$/.test(value) ? 'must be a number of seconds' : undefined
}

const texts = map(anyText)

/** Additional parameters of an authorize URL, except those that the login sends itself. */
export const authorizeParameters: SettingKind<Readonly<Record<string, string>>> = {
  ...texts,
  read: (value, fault) => {
    const read = texts.read(value, fault)
    if (read === undefined) return undefined
    const entries = Object.entries(read)
    if (entries.length > MOST) return fault(`must contain at most ${MOST} parameters`)
    for (const [name, text] of entries) {
      const description = problemOf(name, text)
      if (description !== undefined) fault(description, `.${name}`)
    }
    return read
  },
  schema: { ...texts.schema, maxProperties: MOST },
}
