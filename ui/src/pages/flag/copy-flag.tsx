import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useAttempt } from '../../api/attempt.ts'
import { type Flag, hasFlag } from '../../api/flags.ts'
import { toFlag } from '../../links.ts'
import { Button, SubmitButton } from '../../parts/button.tsx'
import { tooLong } from '../../parts/editing/rules.ts'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Dialog } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useFocusFirstWrong } from '../../parts/feedback/wrong.ts'
import { TextField } from '../../parts/fields/field.tsx'
import { isKey } from '../../parts/fields/key.ts'
import { NamespaceField } from '../../parts/fields/namespace-field.tsx'
import { useMissing } from '../../why-not.ts'
import { common, fields } from '../../words/common.ts'
import { copying as words } from '../../words/copying.ts'
import { flag } from '../../words/flag.ts'

type Wrong = Readonly<Partial<Record<'namespace' | 'key', string>>>

const flawsOf = (namespace: string, key: string): Wrong => ({
  ...(namespace === '' && { namespace: words.namespaceMissing }),
  ...(key === ''
    ? { key: fields.keyEmpty(flag.thing) }
    : isKey(key)
      ? tooLong('key', key, 255)
      : { key: fields.keyBad }),
})

/** Dialog that chooses the namespace and key of a copy. The page of the copy then creates or changes that flag. */
export const CopyFlag = ({ of, onClose }: { readonly of: Flag; readonly onClose: () => void }) => {
  const navigate = useNavigate()
  const missing = useMissing()
  const focusWrong = useFocusFirstWrong()
  const [namespace, setNamespace] = useState('')
  const [key, setKey] = useState(of.key)
  const [wrong, setWrong] = useState<Wrong>({})
  const [taken, setTaken] = useState(false)
  const { busy, failure, attempt } = useAttempt()
  const why =
    namespace === ''
      ? undefined
      : missing(...['flag.create', 'flag.update', 'flag.read'].map((right) => ({ right, namespaceKey: namespace })))
  const go = () => {
    const { search, ...rest } = toFlag(namespace, key)
    const copied = { ...search, copy: `${of.namespaceKey}/${of.key}` }
    void navigate({ ...rest, search: copied })
  }
  const chosen = (set: (text: string) => void) => (text: string) => {
    setTaken(false)
    set(text)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found = flawsOf(namespace, key)
    setWrong(found)
    if (busy) return
    void attempt(async () => {
      if (Object.keys(found).length > 0) return focusWrong()
      if (why !== undefined) return
      if (await hasFlag(namespace, key)) setTaken(true)
      else go()
    })
  }
  return (
    <Dialog title={<Safe text={words.title(of.key)} />} open onClose={onClose}>
      <form className="stack" noValidate onSubmit={submit}>
        {failure && <FailureAlert title={words.failed} failure={failure} />}
        <p className="muted">{words.about}</p>
        <NamespaceField
          label={words.namespace}
          value={namespace}
          wrong={wrong.namespace}
          onChange={chosen(setNamespace)}
        />
        <TextField label={words.key} mono value={key} wrong={wrong.key} onChange={chosen(setKey)} />
        {taken && (
          <div role="alert" className="alert warn">
            <strong>
              <Safe text={words.taken(namespace, key)} />
            </strong>
            <p>{words.takenWhy}</p>
            <div>
              <Button onClick={go}>{words.change(key)}</Button>
            </div>
          </div>
        )}
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <SubmitButton why={why} busy={busy ? words.sending : undefined}>
            {words.submit}
          </SubmitButton>
        </Actions>
      </form>
    </Dialog>
  )
}
