import { Type } from 'typebox'
import { AnyObject, named, pageFields, type Shown, Text, times } from './answer.ts'
import { flagTypes } from './enums.ts'
import { flag as truth, optional, text } from './fields.ts'
import { input } from './input.ts'
import { metadata } from './metadata.ts'
import { description, key, name } from './resource.ts'
import { Variant } from './variant.ts'

/** A flag with its variants (api.md §7.2). */
export const Flag = named('Flag', {
  key: Text,
  namespaceKey: Text,
  name: Text,
  description: Text,
  enabled: Type.Boolean(),
  type: Type.Enum(flagTypes.names),
  variants: Type.Array(Variant),
  defaultVariant: Type.Optional(Variant),
  metadata: AnyObject,
  ...times,
})
export type Flag = Shown<typeof Flag>
export const FlagList = named('FlagList', { flags: Type.Array(Flag), ...pageFields })
export type FlagList = Shown<typeof FlagList>

const common = { name, description, enabled: truth() }
/** Bodies of a new flag, and of one that is replaced: its metadata is kept where none is given. */
export const newFlag = input(
  { key, ...common, type: flagTypes.field('variant'), metadata: optional(metadata) },
  'NewFlag',
)
export const flagFields = { ...common, defaultVariantId: text(), metadata: optional(metadata) }
export const flagUpdate = input(flagFields, 'FlagUpdate')
