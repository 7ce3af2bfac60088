import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { useAttempt } from '../../api/attempt.ts'
import { Button } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useFocusFirstWrong } from '../../parts/feedback/wrong.ts'
import { TextField } from '../../parts/fields/field.tsx'
import { Context } from './context.tsx'
import { contextFlaws, contextOf, type Flaws, type Form, formOf, rowsOf } from './form.ts'

/** Entity with its properties, as the API reads it. */
type Entity = { readonly entityId: string; readonly context: Readonly<Record<string, string>> }

/** Answer of a trial, and the body that it answers. */
type Tried<S> = { readonly of: string; readonly said: S; readonly entity: Entity }

type TrialWords = Readonly<Record<'about' | 'entity' | 'submit' | 'sending' | 'failed' | 'stale', string>> & {
  /** Shown if the draft is of an earlier revision. */
  readonly moved?: string
  readonly heading: (entity: string) => string
}

/** Region that tests a draft with one entity. The service evaluates it and writes nothing. */
export const Trial = <S,>({
  words,
  why,
  bodyOf,
  send,
  render,
}: {
  readonly words: TrialWords
  /** Reason why the trial is disabled. */
  readonly why: string | undefined
  readonly bodyOf: (entity: Entity) => object
  readonly send: (body: string) => Promise<S>
  readonly render: (said: S, entity: Entity) => ReactNode
}) => {
  const id = useId()
  const [form, setForm] = useState<Form>(() => formOf({}))
  const [flaws, setFlaws] = useState<Flaws>({})
  const [tried, setTried] = useState<Tried<S> | undefined>()
  const { busy, failure, attempt } = useAttempt()
  const focusWrong = useFocusFirstWrong()
  const wrong = contextFlaws(form)
  const entity = { entityId: form.entity, context: wrong['json'] === undefined ? contextOf(rowsOf(form)) : {} }
  const body = JSON.stringify(bodyOf(entity))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setFlaws(wrong)
    if (Object.keys(wrong).length > 0) return focusWrong()
    if (!busy) void attempt(async () => setTried({ of: body, said: await send(body), entity }))
  }
  return (
    <section className="card stack" aria-labelledby={id}>
      <h2 id={id}>
        <Safe text={words.heading(form.entity)} />
      </h2>
      <p className="muted">{words.about}</p>
      <form className="stack" noValidate onSubmit={submit}>
        {failure && (
          <FailureAlert
            title={words.failed}
            failure={failure}
            {...(failure.status === 412 && { words: words.moved })}
          />
        )}
        <TextField
          label={words.entity}
          mono
          value={form.entity}
          onChange={(next) => setForm((before) => ({ ...before, entity: next }))}
        />
        <Context
          form={form}
          flaws={flaws}
          isKept={false}
          onChange={(part) => setForm((before) => ({ ...before, ...part }))}
        />
        <div>
          <Button type="submit" why={why} busy={busy ? words.sending : undefined}>
            {words.submit}
          </Button>
        </div>
      </form>
      {tried && (tried.of === body ? render(tried.said, tried.entity) : <p className="muted">{words.stale}</p>)}
    </section>
  )
}
