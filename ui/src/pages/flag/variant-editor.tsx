import type { Flaws } from '../../parts/editing/editing.ts'
import { TextArea, TextField } from '../../parts/fields/field.tsx'
import { variant as words } from '../../words/variant.ts'
import type { VariantDraft } from './draft.ts'
import { attachmentFlaw } from './flaws.ts'

/** Editor of a variant. The attachment is sent as typed. */
export const VariantEditor = ({
  variant: { id, key, name, description, attachment },
  fresh,
  flaws,
  onChange,
}: {
  readonly variant: VariantDraft
  /** Whether it is new. */
  readonly fresh: boolean
  readonly flaws: Flaws
  readonly onChange: (part: Partial<VariantDraft>) => void
}) => (
  <div className="editor">
    <TextField
      label={words.fields.key}
      hint={words.keyHint}
      mono
      autoFocus={fresh}
      value={key}
      wrong={flaws[`${id}.key`]}
      onChange={(next) => onChange({ key: next })}
    />
    <TextField
      label={words.fields.name}
      value={name}
      wrong={flaws[`${id}.name`]}
      onChange={(next) => onChange({ name: next })}
    />
    <TextField
      label={words.fields.description}
      value={description}
      wrong={flaws[`${id}.description`]}
      onChange={(next) => onChange({ description: next })}
    />
    <TextArea
      label={words.fields.attachment}
      hint={words.attachmentHint}
      mono
      rows={6}
      value={attachment}
      wrong={attachmentFlaw(attachment) ?? flaws[`${id}.attachment`]}
      onChange={(next) => onChange({ attachment: next })}
    />
  </div>
)
