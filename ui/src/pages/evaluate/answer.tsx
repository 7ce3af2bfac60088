import { CheckIcon, XIcon } from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import type { Answer } from '../../api/evaluation.ts'
import { toFlag } from '../../links.ts'
import { Code } from '../../parts/code.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Loading } from '../../parts/lists/states.tsx'
import { usePreferences } from '../../preferences.ts'
import { evaluate as words } from '../../words/evaluate.ts'
import { answerOf, type Explained, type Line, linesOf, reasonOf } from './steps.ts'

const Step = ({ place, line: { sentence, matched, why } }: { readonly place: string; readonly line: Line }) => (
  <li className="step">
    <span className="position">{place}</span>
    <div>
      <Safe text={sentence} />
      {why.map((words) => (
        <p key={words} className="muted small">
          <Safe text={words} />
        </p>
      ))}
    </div>
    <span className={matched ? 'outcome yes' : 'outcome'}>
      {matched ? <CheckIcon /> : <XIcon />}
      {matched ? words.matched : words.notMatched}
    </span>
  </li>
)

/** Steps of an explained answer; `label` names their list. */
export const Steps = ({ answer, label = words.steps }: { readonly answer: Explained; readonly label?: string }) => {
  const { zone } = usePreferences()
  const lines = linesOf(answer, zone)
  const { untried = 0 } = answer.said
  const count = lines.length
  if (count + untried === 0) return <p className="muted">{words.noSteps}</p>
  return (
    <ol className="tight" aria-label={label}>
      {lines.map((line, n) => (
        <Step key={line.id} place={String(n + 1)} line={line} />
      ))}
      {untried > 0 && (
        <li className="step">
          <span className="position">{words.places(count + 1, count + untried)}</span>
          <span className="muted">{words.untried}</span>
        </li>
      )}
    </ol>
  )
}

const Said = ({ answer }: { readonly answer: Answer }) => {
  const { question, said } = answer
  const { namespace, flag, entity, at } = question
  const attachment = 'variantAttachment' in said ? said.variantAttachment : ''
  return (
    <>
      {attachment !== '' && (
        <div className="tight">
          <h2>{words.attachment}</h2>
          <Code label={words.attachment} text={attachment} />
        </div>
      )}
      <div className="tight">
        <h2>{words.steps}</h2>
        <Steps answer={answer} />
      </div>
      <p className="muted small">
        <Link {...toFlag(namespace, flag)}>
          <Safe text={flag} />
        </Link>{' '}
        <Safe text={words.about(entity)} />
      </p>
      {at !== undefined && <p className="muted small">{words.recomputed}</p>}
    </>
  )
}

/** Result of an evaluation in large type, with its reason (ui.md §11.7). */
export const AnswerRegion = ({
  answer,
  asked,
  busy,
}: {
  readonly answer: Answer | undefined
  readonly asked: boolean
  readonly busy: boolean
}) => (
  <section className="card stack" aria-label={words.answer} aria-busy={busy && answer !== undefined}>
    <div role="status">
      {answer ? (
        <>
          <p className="the-answer">
            <Safe text={answerOf(answer)} />
          </p>
          <p>{reasonOf(answer)}</p>
        </>
      ) : (
        !asked && <p className="muted">{words.nothingYet}</p>
      )}
    </div>
    {!answer && busy && <Loading rows={3} />}
    {answer && <Said answer={answer} />}
  </section>
)
