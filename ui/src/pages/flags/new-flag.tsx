import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { type Flag, flagCreation, type FlagType } from '../../api/flags.ts'
import { useWrite } from '../../api/write.ts'
import { FailureAlert } from '../../parts/alert.tsx'
import { Button, buttonClass } from '../../parts/button.tsx'
import { Choices, TextArea, TextField } from '../../parts/field.tsx'
import { PageHead } from '../../parts/page.tsx'
import { tooLong } from '../../parts/rules.ts'
import { useSay } from '../../parts/status.tsx'
import { useFocusFirstWrong } from '../../parts/wrong.ts'
import { useWhyNot } from '../../why-not.ts'
import { common, fields } from '../../words/common.ts'
import { flags as words } from '../../words/flags.ts'
import { isKey, keyOf } from './key.ts'

const here = getRouteApi('/inside/ns/$ns/flags/new')
const { form } = words

type Draft = {
  readonly type: FlagType
  readonly name: string
  /** Absent while it follows the name. */
  readonly key: string | undefined
  readonly description: string
  readonly enabled: 'false' | 'true'
  readonly reason: string
}
type Wrong = Partial<Record<'name' | 'key' | 'description' | 'reason', string>>

const empty: Draft = {
  type: 'BOOLEAN_FLAG_TYPE',
  name: '',
  key: undefined,
  description: '',
  enabled: 'false',
  reason: '',
}
const shownKey = ({ key, name }: Draft): string => key ?? keyOf(name)

const flawsOf = (draft: Draft): Wrong => {
  const key = shownKey(draft)
  const keyFlaw =
    key === '' ? { key: fields.keyEmpty(words.thing) } : isKey(key) ? tooLong('key', key, 255) : { key: fields.keyBad }
  return {
    ...(draft.name.trim() === '' ? { name: fields.nameEmpty(words.thing) } : tooLong('name', draft.name, 255)),
    ...keyFlaw,
    ...tooLong('description', draft.description, 10_000),
    ...tooLong('reason', draft.reason, 500),
  }
}

const refusedFields = ({ reason, fields: found, status }: Failure): Wrong => {
  if (reason === 'not_unique') return { key: fields.keyTaken }
  const own = ['name', 'key', 'description']
  const named = status === 400 ? found.filter(({ field }) => own.includes(field)) : []
  return Object.fromEntries(named.map(({ field, description }) => [field, description]))
}

const typeOptions = (['BOOLEAN_FLAG_TYPE', 'VARIANT_FLAG_TYPE'] as const).map((value) => ({
  value,
  label: words.typeOf(value),
}))
const either = (of: { readonly false: string; readonly true: string }) =>
  (['false', 'true'] as const).map((value) => ({ value, label: of[value] }))

/** Makes a flag (ui.md §11.3). */
export const NewFlagPage = () => {
  const { ns } = here.useParams()
  const [draft, setDraft] = useState(empty)
  const [wrong, setWrong] = useState<Wrong>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const focusWrong = useFocusFirstWrong()
  const navigate = useNavigate()
  const say = useSay()
  const why = useWhyNot(undefined)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  const boolean = draft.type === 'BOOLEAN_FLAG_TYPE'

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const flaws = flawsOf(draft)
    setWrong(flaws)
    setFailure(undefined)
    if (Object.keys(flaws).length > 0) return focusWrong()
    const { type, name, description, enabled, reason } = draft
    const body = { type, key: shownKey(draft), name: name.trim(), description, enabled: enabled === 'true' }
    const outcome = await send<Flag>(flagCreation(ns, body, reason))
    if (!outcome) return
    if (outcome.done) {
      say(form.created(body.key))
      return void navigate({ to: '/ns/$ns/flags/$key', params: { ns, key: body.key } })
    }
    const refused = refusedFields(outcome.failure)
    setWrong(refused)
    if (Object.keys(refused).length > 0) return focusWrong()
    setFailure(outcome.failure)
  }
  return (
    <>
      <PageHead heading={words.create} title={[words.create, ns]} />
      <form className="form" noValidate onSubmit={(event) => void submit(event)}>
        {failure && <FailureAlert title={form.failed} failure={failure} write />}
        <Choices label={words.type} value={draft.type} options={typeOptions} onChange={(type) => change({ type })} />
        <TextField label={form.name} value={draft.name} wrong={wrong.name} onChange={(name) => change({ name })} />
        <TextField
          label={form.key}
          hint={form.keyHint}
          mono
          value={shownKey(draft)}
          wrong={wrong.key}
          onChange={(key) => change({ key })}
        />
        <TextArea
          label={form.description}
          rows={2}
          value={draft.description}
          wrong={wrong.description}
          onChange={(description) => change({ description })}
        />
        <Choices
          label={boolean ? form.answer : words.state}
          value={draft.enabled}
          options={either(boolean ? form.answers : form.states)}
          onChange={(enabled) => change({ enabled })}
        />
        <TextField
          label={common.reason}
          hint={common.reasonHint}
          value={draft.reason}
          wrong={wrong.reason}
          onChange={(reason) => change({ reason })}
        />
        <div className="bar">
          <Button
            type="submit"
            look="primary"
            why={why}
            busy={sending ? form.sending : undefined}
            aria-keyshortcuts="Control+Enter"
          >
            {form.submit}
          </Button>
          <Link to="/ns/$ns/flags" params={{ ns }} className={buttonClass()}>
            {common.cancel}
          </Link>
        </div>
      </form>
    </>
  )
}
