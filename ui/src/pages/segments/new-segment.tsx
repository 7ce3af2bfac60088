import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { type MatchType, type Segment, segmentCreation } from '../../api/segments.ts'
import { toSegment } from '../../links.ts'
import { buttonClass, SubmitButton } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { Choices } from '../../parts/fields/field.tsx'
import { NamedFields, ReasonField, useNamedForm } from '../../parts/fields/named-form.tsx'
import { PageHead } from '../../parts/page.tsx'
import { useWhyNot } from '../../why-not.ts'
import { common, fields } from '../../words/common.ts'
import { segments as words } from '../../words/segments.ts'

const here = getRouteApi('/inside/ns/$ns/segments/$key')
const { form } = words
const matches = (['ALL_MATCH_TYPE', 'ANY_MATCH_TYPE'] as const).map((value) => ({
  value,
  label: words.matches[value],
}))

/** Form that creates a segment (ui.md §11.5). */
export const NewSegmentPage = () => {
  const { ns } = here.useParams()
  const [matchType, setMatchType] = useState<MatchType>('ALL_MATCH_TYPE')
  const named = useNamedForm(words.thing, fields.keyTaken)
  const navigate = useNavigate()
  const say = useSay()
  const why = useWhyNot(undefined, { right: 'segment.create', namespaceKey: ns })

  const submit = async (event: FormEvent) => {
    const outcome = await named.submit<Segment>(event, (body, reason) =>
      segmentCreation(ns, { ...body, matchType }, reason),
    )
    if (!outcome?.done) return
    const { key } = outcome.value
    say(form.created(key))
    void navigate({ ...toSegment(ns, key), ignoreBlocker: true })
  }
  return (
    <>
      <PageHead heading={words.create} title={[words.create, ns]} />
      <form className="form" noValidate onSubmit={(event) => void submit(event)}>
        {named.failure && <FailureAlert title={form.failed} failure={named.failure} write />}
        <NamedFields form={named} />
        <Choices label={form.match} hint={form.matchHint} value={matchType} options={matches} onChange={setMatchType} />
        <ReasonField form={named} />
        <div className="bar">
          <SubmitButton why={why} busy={named.sending ? form.sending : undefined}>
            {form.submit}
          </SubmitButton>
          <Link to="/ns/$ns/segments" params={{ ns }} ignoreBlocker className={buttonClass()}>
            {common.cancel}
          </Link>
        </div>
      </form>
    </>
  )
}
