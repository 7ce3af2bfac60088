import type { FormEvent, ReactNode } from 'react'
import { Button, SubmitButton } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions } from '../../parts/feedback/dialog.tsx'
import { NamedFields, ReasonField, type useNamedForm } from '../../parts/fields/named-form.tsx'
import { common } from '../../words/common.ts'

/** Form of a namespace in a dialog. `children` stand above its fields. */
export const NamespaceForm = ({
  form,
  words,
  exists = false,
  onSubmit,
  onClose,
  children,
}: {
  readonly form: ReturnType<typeof useNamedForm>
  readonly words: Readonly<Record<'failed' | 'submit' | 'sending', string>>
  /** Whether the namespace exists, so that its key cannot change. */
  readonly exists?: boolean
  readonly onSubmit: (event: FormEvent) => Promise<void>
  readonly onClose: () => void
  readonly children?: ReactNode
}) => (
  <form className="stack" noValidate onSubmit={(event) => void onSubmit(event)}>
    {children}
    {form.failure && <FailureAlert title={words.failed} failure={form.failure} write />}
    <NamedFields form={form} keyFixed={exists} autoFocus={exists} />
    <ReasonField form={form} />
    <Actions>
      <Button onClick={onClose}>{common.cancel}</Button>
      <SubmitButton busy={form.sending ? words.sending : undefined}>{words.submit}</SubmitButton>
    </Actions>
  </form>
)
