import { getRouteApi } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import type { Needed } from '../../api/access.ts'
import { type Failure, isFailure } from '../../api/failure.ts'
import { searchFlags } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { Button, SubmitButton } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useFocusFirstWrong } from '../../parts/feedback/wrong.ts'
import { TextField } from '../../parts/fields/field.tsx'
import { KeyField } from '../../parts/fields/key-field.tsx'
import { LoadFailed } from '../../parts/lists/states.tsx'
import { PageHead } from '../../parts/page.tsx'
import { usePreferences } from '../../preferences.ts'
import { randomId } from '../../random-id.ts'
import { press } from '../../shell/keys.ts'
import { momentWords } from '../../shell/past.tsx'
import { useMissing } from '../../why-not.ts'
import { states } from '../../words/common.ts'
import { evaluate as words } from '../../words/evaluate.ts'
import { AnswerRegion } from './answer.tsx'
import { Context } from './context.tsx'
import { Copies } from './copies.tsx'
import { type Flaws, flawsOf } from './form.ts'
import { useEvaluation } from './use-evaluation.ts'

const here = getRouteApi('/inside/ns/$ns/evaluate')
const FOUND = 20

const Moment = ({ at }: { readonly at: string | undefined }) => {
  const { zone } = usePreferences()
  return (
    <div>
      <Button onClick={() => press('header', 't')}>
        <Safe text={words.atMoment(at === undefined ? words.now : momentWords(at, zone))} />
      </Button>
    </div>
  )
}

const NotAnswered = ({
  error,
  flag,
  onRetry,
}: {
  readonly error: Failure
  readonly flag: string
  readonly onRetry: () => void
}) => {
  const { ns } = here.useParams()
  const { at } = here.useSearch()
  if (error.status !== 404) return <LoadFailed things={words.thing} error={error} onRetry={onRetry} />
  const sentence = at === undefined ? states.notThere(words.flagThing, flag, ns) : words.notThen(flag, ns)
  return (
    <div role="alert" className="alert">
      <strong>{states.notFound(words.flag)}</strong>
      <p>
        <Safe text={sentence} />
      </p>
    </div>
  )
}

/** Rights for an evaluation with a trace. */
const rightsIn = (namespaceKey: string): readonly Needed[] =>
  ['flag.evaluate', 'flag.read'].map((right) => ({ right, namespaceKey }))

/** Page that evaluates a flag for an entity and explains the result (ui.md §11.7). */
export const EvaluatePage = () => {
  const { ns } = here.useParams()
  const { form, asked, change, ask, answer, error, busy, retry } = useEvaluation(ns, here.useSearch())
  const { at } = here.useSearch()
  const [flaws, setFlaws] = useState<Flaws>({})
  const focusWrong = useFocusFirstWrong()
  const why = useMissing()(...rightsIn(ns))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found = flawsOf(form)
    setFlaws(found)
    if (Object.keys(found).length > 0) focusWrong()
    else ask()
  }
  return (
    <>
      <PageHead heading={words.heading} title={[words.heading, ns]}>
        <Copies answer={answer} asked={asked} />
      </PageHead>
      <div className="evaluation">
        <form className="stack" noValidate onSubmit={submit} data-page-form="">
          <KeyField
            label={words.flag}
            wrong={flaws['flag']}
            value={form.flag}
            onChange={(flag) => change({ flag })}
            source={{
              queryKey: [...keys.flags(ns), at ?? ''],
              read: async (q, signal) => (await searchFlags(ns, { q, at, limit: FOUND }, signal)).flags,
            }}
            words={{ open: words.openFlags, none: words.noFlag }}
          />
          <div className="with-button">
            <TextField
              label={words.entity}
              mono
              value={form.entity}
              notice={asked?.entity === '' && form.entity === '' ? words.entityEmpty : undefined}
              onChange={(entity) => change({ entity })}
            />
            <Button aria-label={words.newEntity} onClick={() => change({ entity: randomId() })}>
              {words.newEntityShort}
            </Button>
          </div>
          <Moment at={at} />
          <Context form={form} flaws={flaws} onChange={change} />
          <div>
            {/* Not `busy`, because a new evaluation replaces the one in progress. */}
            <SubmitButton why={why}>{busy ? words.sending : words.submit}</SubmitButton>
          </div>
        </form>
        <div className="stack">
          {error && asked && isFailure(error) && <NotAnswered error={error} flag={asked.flag} onRetry={retry} />}
          {(answer || !error) && <AnswerRegion answer={answer} asked={asked !== undefined} busy={busy} />}
        </div>
      </div>
    </>
  )
}
