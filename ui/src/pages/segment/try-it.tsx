import { CheckIcon, XIcon } from '@primer/octicons-react'
import { type FormEvent, useId, useState } from 'react'
import { type Failure, isFailure } from '../../api/failure.ts'
import { matchSegment, type SegmentMatch } from '../../api/segments.ts'
import { Button } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useFocusFirstWrong } from '../../parts/feedback/wrong.ts'
import { TextField } from '../../parts/fields/field.tsx'
import { useMissing } from '../../why-not.ts'
import { segment as words } from '../../words/segments.ts'
import { Context } from '../evaluate/context.tsx'
import { contextFlaws, contextOf, type Flaws, type Form, formOf, rowsOf } from '../evaluate/form.ts'
import { fieldsOf, sentenceOf } from './changes.ts'
import type { Draft } from './draft.ts'

/** Answer of a trial, and the body that it answers. */
type Trial = { readonly of: string; readonly said: SegmentMatch }

const Result = ({ said: { matched, constraints }, draft }: Pick<Trial, 'said'> & { readonly draft: Draft }) => (
  <>
    <p role="status">
      <strong>{matched ? words.tryIt.inside : words.tryIt.outside}</strong>
    </p>
    <ul className="tight" aria-label={words.tryIt.results}>
      {draft.constraints.map((constraint, n) => (
        <li key={constraint.id} className="bar">
          {constraints[n]?.matched ? <CheckIcon /> : <XIcon />}
          <Safe text={sentenceOf(constraint)} />
          <span className="muted">{words.tryIt.result(constraints[n]?.matched === true, constraints[n]?.never)}</span>
        </li>
      ))}
    </ul>
  </>
)

/** Tests the draft of a segment with one entity (ui.md §11.5). The service evaluates it and writes nothing. */
export const TryIt = ({
  namespace,
  segmentKey,
  draft,
}: {
  readonly namespace: string
  readonly segmentKey: string
  readonly draft: Draft
}) => {
  const id = useId()
  const [form, setForm] = useState<Form>(() => formOf({}))
  const [flaws, setFlaws] = useState<Flaws>({})
  const [trial, setTrial] = useState<Trial | undefined>()
  const [failure, setFailure] = useState<Failure | undefined>()
  const [busy, setBusy] = useState(false)
  const focusWrong = useFocusFirstWrong()
  const why = useMissing()({ right: 'segment.read', namespaceKey: namespace })
  const wrong = contextFlaws(form)
  const body = JSON.stringify({
    entityId: form.entity,
    context: wrong['json'] === undefined ? contextOf(rowsOf(form)) : {},
    matchType: draft.match === 'all' ? 'ALL_MATCH_TYPE' : 'ANY_MATCH_TYPE',
    constraints: draft.constraints.map(fieldsOf),
  })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setFlaws(wrong)
    if (Object.keys(wrong).length > 0) return focusWrong()
    if (busy) return
    setBusy(true)
    setFailure(undefined)
    try {
      setTrial({ of: body, said: await matchSegment(namespace, segmentKey, body) })
    } catch (error) {
      if (!isFailure(error)) throw error
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <section className="card stack" aria-labelledby={id}>
      <h2 id={id}>{words.tryIt.heading}</h2>
      <p className="muted">{words.tryIt.about}</p>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {failure && <FailureAlert title={words.tryIt.failed} failure={failure} />}
        <TextField
          label={words.tryIt.entity}
          mono
          value={form.entity}
          onChange={(entity) => setForm((before) => ({ ...before, entity }))}
        />
        <Context
          form={form}
          flaws={flaws}
          isKept={false}
          onChange={(part) => setForm((before) => ({ ...before, ...part }))}
        />
        <div>
          <Button type="submit" why={why} busy={busy ? words.tryIt.sending : undefined}>
            {words.tryIt.submit}
          </Button>
        </div>
      </form>
      {trial && trial.of === body && <Result said={trial.said} draft={draft} />}
      {trial && trial.of !== body && <p className="muted">{words.tryIt.stale}</p>}
    </section>
  )
}
