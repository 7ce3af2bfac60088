import { type FormEvent, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { useWrite, type Write } from '../../api/write.ts'
import { fields } from '../../words/common.ts'
import { same } from '../editing/editing.ts'
import { LeaveGuard } from '../editing/leave-guard.tsx'
import { tooLong } from '../editing/rules.ts'
import { useFocusFirstWrong } from '../feedback/wrong.ts'
import { TextArea, TextField } from './field.tsx'
import { isKey, keyOf } from './key.ts'
import { useAddressedNamespace, useReason } from './use-reason.ts'

type Draft = {
  readonly name: string
  /** The key is undefined while it is derived from the name. */
  readonly key: string | undefined
  readonly description: string
  readonly reason: string
}
/** Fields common to flags, segments and namespaces. */
export type Named = { readonly key: string; readonly name: string; readonly description: string }
type Wrong = Partial<Record<'name' | 'key' | 'description' | 'reason', string>>

const shownKey = ({ key, name }: Pick<Draft, 'key' | 'name'>): string => key ?? keyOf(name)

const flawsOf = (thing: string, draft: Draft): Wrong => {
  const key = shownKey(draft)
  const keyFlaw =
    key === '' ? { key: fields.keyEmpty(thing) } : isKey(key) ? tooLong('key', key, 255) : { key: fields.keyBad }
  return {
    ...(draft.name.trim() === '' ? { name: fields.nameEmpty(thing) } : tooLong('name', draft.name, 255)),
    ...keyFlaw,
    ...tooLong('description', draft.description, 10_000),
  }
}

const refusedFields = ({ reason, fields: found, status }: Failure, taken: string): Wrong => {
  if (reason === 'not_unique') return { key: taken }
  const named = status === 400 ? found.filter(({ field }) => ['name', 'key', 'description'].includes(field)) : []
  return Object.fromEntries(named.map(({ field, description }) => [field, description]))
}

/** Form of a resource with a name and a key: its values, validation errors and submission. */
export const useNamedForm = (thing: string, taken: string, begun?: Named) => {
  const [draft, setDraft] = useState<Draft>({ name: '', key: undefined, description: '', reason: '', ...begun })
  const [first] = useState(draft)
  const [wrong, setWrong] = useState<Wrong>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const focusWrong = useFocusFirstWrong()
  const { name, description, reason } = draft
  const addressed = useAddressedNamespace()
  // A namespace is created and changed in itself.
  const { field, flawOf } = useReason(addressed === '' ? shownKey(draft) : addressed)
  const named: Named = { key: shownKey(draft), name: name.trim(), description }

  /** Submits the form if it is valid. Errors, also those of the service, are shown at their fields. */
  const submit = async <A,>(event: FormEvent, writeOf: (named: Named, reason: string) => Write) => {
    event.preventDefault()
    const flaws = { ...flawsOf(thing, draft), ...flawOf(draft.reason) }
    setWrong(flaws)
    setFailure(undefined)
    if (Object.keys(flaws).length > 0) return focusWrong()
    const outcome = await send<A>(writeOf(named, reason))
    if (!outcome || outcome.done) return outcome
    const refused = refusedFields(outcome.failure, taken)
    setWrong(refused)
    if (Object.keys(refused).length > 0) focusWrong()
    else setFailure(outcome.failure)
    return outcome
  }
  return {
    draft,
    changed: !same(draft, first),
    named,
    wrong,
    failure,
    sending,
    reasonField: field,
    submit,
    change: (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part })),
    /** Clears a failure that is shown elsewhere. */
    forget: () => setFailure(undefined),
  }
}
type Form = Pick<ReturnType<typeof useNamedForm>, 'draft' | 'changed' | 'wrong' | 'change'>
type FormWithReason = Form & Pick<ReturnType<typeof useNamedForm>, 'reasonField'>

/**
 * Fields for name, key and description. The key follows the name until it is edited, and cannot change after creation.
 * Asks before the user leaves what was typed.
 */
export const NamedFields = ({
  form: { draft, changed, wrong, change },
  keyFixed = false,
  autoFocus = false,
}: {
  readonly form: Form
  readonly keyFixed?: boolean
  /** Whether the first field receives the focus, for a form that replaces the focused element. */
  readonly autoFocus?: boolean
}) => (
  <>
    <LeaveGuard changes={Number(changed)} />
    <TextField
      label={fields.name}
      autoFocus={autoFocus}
      value={draft.name}
      wrong={wrong.name}
      onChange={(name) => change({ name })}
    />
    {!keyFixed && (
      <TextField
        label={fields.key}
        hint={fields.keyHint}
        mono
        value={shownKey(draft)}
        wrong={wrong.key}
        onChange={(key) => change({ key })}
      />
    )}
    <TextArea
      label={fields.description}
      rows={2}
      value={draft.description}
      wrong={wrong.description}
      onChange={(description) => change({ description })}
    />
  </>
)

/** Field for the reason of a creation or change, kept in the history. */
export const ReasonField = ({ form: { draft, wrong, change, reasonField } }: { readonly form: FormWithReason }) => (
  <TextField {...reasonField} value={draft.reason} wrong={wrong.reason} onChange={(reason) => change({ reason })} />
)
