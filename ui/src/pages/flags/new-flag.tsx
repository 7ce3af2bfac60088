import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { type Flag, type FlagType, flagCreation } from '../../api/flags.ts'
import { toFlag } from '../../links.ts'
import { buttonClass, SubmitButton } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { Choices } from '../../parts/fields/field.tsx'
import { NamedFields, ReasonField, useNamedForm } from '../../parts/fields/named-form.tsx'
import { PageHead } from '../../parts/page.tsx'
import { useWhyNot } from '../../why-not.ts'
import { common, fields } from '../../words/common.ts'
import { flags as words } from '../../words/flags.ts'

const here = getRouteApi('/inside/ns/$ns/flags/$key')
const { form } = words

const typeOptions = (['BOOLEAN_FLAG_TYPE', 'VARIANT_FLAG_TYPE'] as const).map((value) => ({
  value,
  label: words.typeOf(value),
}))
const either = (of: { readonly false: string; readonly true: string }) =>
  (['false', 'true'] as const).map((value) => ({ value, label: of[value] }))

/** Form that creates a flag (ui.md §11.3). */
export const NewFlagPage = () => {
  const { ns } = here.useParams()
  const [type, setType] = useState<FlagType>('BOOLEAN_FLAG_TYPE')
  const [enabled, setEnabled] = useState<'false' | 'true'>('false')
  const named = useNamedForm(words.thing, fields.keyTaken)
  const navigate = useNavigate()
  const say = useSay()
  const why = useWhyNot(undefined, { right: 'flag.create', namespaceKey: ns })
  const boolean = type === 'BOOLEAN_FLAG_TYPE'

  const submit = async (event: FormEvent) => {
    const outcome = await named.submit<Flag>(event, (body, reason) =>
      flagCreation(ns, { ...body, type, enabled: enabled === 'true' }, reason),
    )
    if (!outcome?.done) return
    const { key } = outcome.value
    say(form.created(key))
    void navigate({ ...toFlag(ns, key), ignoreBlocker: true })
  }
  return (
    <>
      <PageHead heading={words.create} title={[words.create, ns]} />
      <form className="form" noValidate onSubmit={(event) => void submit(event)}>
        {named.failure && <FailureAlert title={form.failed} failure={named.failure} write />}
        <Choices label={words.type} value={type} options={typeOptions} onChange={setType} />
        <NamedFields form={named} />
        <Choices
          label={boolean ? form.answer : words.state}
          value={enabled}
          options={either(boolean ? form.answers : form.states)}
          onChange={setEnabled}
        />
        <ReasonField form={named} />
        <div className="bar">
          <SubmitButton why={why} busy={named.sending ? form.sending : undefined}>
            {form.submit}
          </SubmitButton>
          <Link to="/ns/$ns/flags" params={{ ns }} ignoreBlocker className={buttonClass()}>
            {common.cancel}
          </Link>
        </div>
      </form>
    </>
  )
}
