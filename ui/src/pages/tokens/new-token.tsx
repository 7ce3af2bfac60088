import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { creation, type IssuedToken, readTokens } from '../../api/tokens.ts'
import { useWrite } from '../../api/write.ts'
import { Actions, Dialog } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/alert.tsx'
import { Choices, TextArea, TextField } from '../../parts/field.tsx'
import { NamespaceField } from '../../parts/namespace-field.tsx'
import { useSettled } from '../../parts/settled.ts'
import { tooLong } from '../../parts/rules.ts'
import { useFocusFirstWrong } from '../../parts/wrong.ts'
import { common, fields } from '../../words/common.ts'
import { tokens as words } from '../../words/tokens.ts'
import { type Chosen, Expiration, expiryOf, firstChoice } from './expiration.tsx'
import { LostToken, Reveal } from './reveal.tsx'

const { form } = words
type Draft = {
  readonly name: string
  readonly description: string
  readonly expiry: Chosen
  readonly scope: 'all' | 'one'
  readonly namespace: string
  readonly reason: string
}
type Wrong = Partial<Record<'name' | 'description' | 'expiry' | 'namespace' | 'reason', string>>

const flawsOf = ({ name, description, expiry, scope, namespace, reason }: Draft): Wrong => ({
  ...(name.trim() === '' ? { name: fields.nameEmpty(words.thing) } : tooLong('name', name, 255)),
  ...tooLong('description', description, 1024),
  ...(expiryOf(expiry).wrong !== undefined && { expiry: expiryOf(expiry).wrong! }),
  ...(scope === 'one' && namespace === '' && { namespace: fields.namespaceMissing }),
  ...tooLong('reason', reason, 500),
})

/** The fields that the service finds wrong. */
const refusedFields = ({ fields: found, status }: Failure): Wrong => {
  const named: Readonly<Record<string, keyof Wrong>> = {
    name: 'name',
    description: 'description',
    expiresAt: 'expiry',
    namespaceKey: 'namespace',
  }
  if (status !== 400) return {}
  return Object.fromEntries(
    found.flatMap(({ field, description }) => (named[field] ? [[named[field], description]] : [])),
  )
}

/** Whether there is an active token of a name, which is no mistake. */
const useIsTaken = (typed: string): boolean => {
  const name = useSettled(typed.trim())
  const filter = { kind: 'static', status: 'ACTIVE', identity: name } as const
  const { data } = useQuery({
    queryKey: [...keys.tokens, filter],
    queryFn: ({ signal }) => readTokens(filter, signal),
    enabled: name !== '',
  })
  return name === typed.trim() && (data?.totalCount ?? 0) > 0
}

/** Makes a static token, and shows it once. */
export const NewToken = ({ onClose }: { readonly onClose: () => void }) => {
  const [draft, setDraft] = useState<Draft>(() => ({
    name: '',
    description: '',
    expiry: firstChoice(),
    scope: 'all',
    namespace: '',
    reason: '',
  }))
  const [wrong, setWrong] = useState<Wrong>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const [made, setMade] = useState<IssuedToken | undefined>()
  const { send, sending } = useWrite()
  const focusWrong = useFocusFirstWrong()
  const taken = useIsTaken(draft.name)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const flaws = flawsOf(draft)
    setWrong(flaws)
    setFailure(undefined)
    if (Object.keys(flaws).length > 0) return focusWrong()
    const { name, description, expiry, scope, namespace, reason } = draft
    const { instant } = expiryOf(expiry)
    const body = {
      name: name.trim(),
      ...(description !== '' && { description }),
      ...(instant !== undefined && { expiresAt: instant }),
      ...(scope === 'one' && { namespaceKey: namespace }),
    }
    const outcome = await send<IssuedToken>(creation(body, reason))
    if (!outcome) return
    if (outcome.done) return setMade(outcome.value)
    const refused = refusedFields(outcome.failure)
    setWrong(refused)
    if (Object.keys(refused).length > 0) return focusWrong()
    setFailure(outcome.failure)
  }

  if (made)
    return made.clientToken === undefined ? (
      <LostToken record={made.authentication} onClose={onClose} />
    ) : (
      <Reveal issued={made} onDone={onClose} />
    )
  return (
    <Dialog title={form.title} open onClose={onClose}>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {failure && (
          <FailureAlert
            title={form.failed}
            failure={failure}
            write
            {...(failure.reason === 'token_scoped' && { words: form.scoped })}
          />
        )}
        <TextField
          label={form.name}
          value={draft.name}
          {...(taken && { notice: form.duplicate })}
          wrong={wrong.name}
          onChange={(name) => change({ name })}
        />
        <TextArea
          label={form.description}
          hint={form.descriptionHint}
          rows={2}
          value={draft.description}
          wrong={wrong.description}
          onChange={(description) => change({ description })}
        />
        <Expiration chosen={draft.expiry} wrong={wrong.expiry} onChange={(expiry) => change({ expiry })} />
        <Choices
          label={form.scope}
          value={draft.scope}
          options={[
            { value: 'all', label: form.scopes.all },
            { value: 'one', label: form.scopes.one },
          ]}
          onChange={(scope) => change({ scope })}
        />
        {draft.scope === 'one' && (
          <NamespaceField
            label={form.namespace}
            value={draft.namespace}
            wrong={wrong.namespace}
            onChange={(namespace) => change({ namespace })}
          />
        )}
        <TextField
          label={common.reason}
          hint={common.reasonHint}
          value={draft.reason}
          wrong={wrong.reason}
          onChange={(reason) => change({ reason })}
        />
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" look="primary" busy={sending ? words.creating : undefined}>
            {form.submit}
          </Button>
        </Actions>
      </form>
    </Dialog>
  )
}
