import type { FormEvent } from 'react'
import { type Namespace, namespaceCreation } from '../../api/namespaces.ts'
import { Dialog } from '../../parts/feedback/dialog.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { useNamedForm } from '../../parts/fields/named-form.tsx'
import { namespaces as words } from '../../words/namespaces.ts'
import { NamespaceForm } from './namespace-form.tsx'

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
      <NamespaceForm form={form} words={words.form} onSubmit={submit} onClose={onClose} />
    </Dialog>
  )
}
