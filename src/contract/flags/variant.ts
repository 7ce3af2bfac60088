import { named, type Shown, Text, times } from '../answer.ts'
import { attachment } from '../readers/attachment.ts'
import { text } from '../readers/fields.ts'
import { input } from '../readers/input.ts'
import { description } from '../resource.ts'

/** A variant of a flag. The attachment of a variant is JSON as text (api.md §7.2). */
export const Variant = named('Variant', {
  id: Text,
  flagKey: Text,
  namespaceKey: Text,
  key: Text,
  name: Text,
  description: Text,
  attachment: Text,
  ...times,
})
export type Variant = Shown<typeof Variant>

export const variantFields = {
  key: text({ required: true, max: 255, control: false }),
  name: text({ max: 255 }),
  description,
  attachment,
}
/** Body that creates or replaces a variant. */
export const variantBody = input(variantFields, 'VariantBody')
