import { type FormEvent, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { useWrite, type Write } from '../../api/write.ts'
import { common, fields } from '../../words/common.ts'
import { tooLong } from '../editing/rules.ts'
import { useFocusFirstWrong } from '../feedback/wrong.ts'
import { TextArea, TextField } from './field.tsx'
import { isKey, keyOf } from './key.ts'

type Draft = {
  readonly name: string
  /** Absent while it follows the name. */
  readonly key: string | undefined
  readonly description: string
  readonly reason: string
}
/** What a flag, a segment and a namespace have alike. */
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
    ...tooLong('reason', draft.reason, 500),
  }
}

const refusedFields = ({ reason, fields: found, status }: Failure, taken: string): Wrong => {
  if (reason === 'not_unique') return { key: taken }
  const named = status === 400 ? found.filter(({ field }) => ['name', 'key', 'description'].includes(field)) : []
  return Object.fromEntries(named.map(({ field, description }) => [field, description]))
}

/** A form for a thing that has a name and a key: what is entered, what is wrong with it, and how it is sent. */
export const useNamedForm = (thing: string, taken: string, begun?: Named) => {
  const [draft, setDraft] = useState<Draft>({ name: '', key: undefined, description: '', reason: '', ...begun })
  const [wrong, setWrong] = useState<Wrong>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const focusWrong = useFocusFirstWrong()
  const { name, description, reason } = draft
  const named: Named = { key: shownKey(draft), name: name.trim(), description }

  /** Sends what is right; what is wrong, here or for the service, is said beside its field. */
  const submit = async <A,>(event: FormEvent, writeOf: (named: Named, reason: string) => Write) => {
    event.preventDefault()
    const flaws = flawsOf(thing, draft)
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
    named,
    wrong,
    failure,
    sending,
    submit,
    change: (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part })),
    /** Takes a failure back that is told elsewhere. */
    forget: () => setFailure(undefined),
  }
}
type Form = Pick<ReturnType<typeof useNamedForm>, 'draft' | 'wrong' | 'change'>

/** Name, key and description of a thing; the key follows the name until it is edited, and never changes once it is there. */
export const NamedFields = ({
  form: { draft, wrong, change },
  keyFixed = false,
  autoFocus = false,
}: {
  readonly form: Form
  readonly keyFixed?: boolean
  /** The first field takes the focus: where the form takes the place of what had it. */
  readonly autoFocus?: boolean
}) => (
  <>
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

/** Why a thing is made or changed, for the history. */
export const ReasonField = ({ form: { draft, wrong, change } }: { readonly form: Form }) => (
  <TextField
    label={common.reason}
    hint={common.reasonHint}
    value={draft.reason}
    wrong={wrong.reason}
    onChange={(reason) => change({ reason })}
  />
)
