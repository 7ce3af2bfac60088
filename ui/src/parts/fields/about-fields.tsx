import { fields } from '../../words/common.ts'
import { Facts } from '../facts.tsx'
import { Safe } from '../feedback/safe.tsx'
import { Time } from '../time.tsx'
import { TextArea, TextField } from './field.tsx'

type Named = { readonly name: string; readonly description: string }

/** Name and description of a resource: as inputs, or as text if editing is disabled. */
export const AboutFields = ({
  of: { name, description },
  wrong,
  why,
  onChange,
}: {
  readonly of: Named
  readonly wrong: Readonly<Partial<Record<keyof Named, string | undefined>>>
  readonly why: string | undefined
  readonly onChange: (part: Partial<Named>) => void
}) =>
  why === undefined ? (
    <>
      <TextField label={fields.name} value={name} wrong={wrong.name} onChange={(next) => onChange({ name: next })} />
      <TextArea
        label={fields.description}
        value={description}
        wrong={wrong.description}
        onChange={(next) => onChange({ description: next })}
      />
    </>
  ) : (
    <Facts
      of={{
        [fields.name]: <Safe text={name} />,
        [fields.description]: <Safe text={description === '' ? fields.none : description} />,
      }}
    />
  )

/** Times of creation and last change. */
export const AboutTimes = ({
  of: { createdAt, updatedAt },
}: {
  readonly of: { readonly createdAt: string; readonly updatedAt: string }
}) => <Facts of={{ [fields.created]: <Time instant={createdAt} />, [fields.changed]: <Time instant={updatedAt} /> }} />
