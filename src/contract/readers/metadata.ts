import { invalid } from '../../base/errors.ts'
import type { Field } from './field.ts'
import { anyObject } from './fields.ts'
import { type Raw, storable } from './value.ts'

const MAX_BYTES = 65_536

/** Refuses texts that cannot be stored, and numbers that a float64 cannot keep, at any depth. `path` names the member. */
const keepable = (value: unknown, name: string, path = name): void => {
  if (typeof value === 'string') storable(value, name, true)
  else if (typeof value === 'bigint') invalid(path, 'must be an integer of at most 9007199254740991, or text')
  else if (typeof value === 'number' && !Number.isFinite(value)) invalid(name, 'must not contain numbers out of range')
  else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      storable(key, name, true)
      keepable(member, name, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
    }
  }
}

const { schema, read } = anyObject()

/** Metadata of a flag: any JSON object of at most 64 KB as compact JSON (api.md §7.3). */
export const metadata: Field<Raw> = {
  schema,
  optional: true,
  read: (value, name) => {
    const given = read(value, name)
    keepable(given, name)
    return Buffer.byteLength(JSON.stringify(given)) <= MAX_BYTES ? given : invalid(name, 'must be less than 64 KB')
  },
}
