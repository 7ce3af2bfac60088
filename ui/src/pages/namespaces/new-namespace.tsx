import type { FormEvent } from 'react'
import { type Namespace, namespaceCreation } from '../../api/namespaces.ts'
import { Button, SubmitButton } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Dialog } from '../../parts/feedback/dialog.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { NamedFields, ReasonField, useNamedForm } from '../../parts/fields/named-form.tsx'
import { common } from '../../words/common.ts'
import { namespaces as words } from '../../words/namespaces.ts'

/** Dialog that creates a namespace. */
export const NewNamespace = ({ onClose }: { readonly onClose: () => void }) => {
  const form = useNamedForm(words.thing, words.taken)
  const say = useSay()
  const submit = async (event: FormEvent) => {
    const outcome = await form.submit<Namespace>(event, namespaceCreation)
    if (!outcome?.done) return
    say(words.form.created(outcome.value.key))
    onClose()
  }
  return (
    <Dialog title={words.create} open onClose={onClose}>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {form.failure && <FailureAlert title={words.form.failed} failure={form.failure} write />}
        <NamedFields form={form} />
        <ReasonField form={form} />
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <SubmitButton busy={form.sending ? words.form.sending : undefined}>{words.form.submit}</SubmitButton>
        </Actions>
      </form>
    </Dialog>
  )
}
