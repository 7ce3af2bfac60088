import { type Loaded, tryFlag } from '../../api/flags.ts'
import type { Edited } from '../../parts/editing/editor.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useMissing } from '../../why-not.ts'
import { flag } from '../../words/flag.ts'
import { Steps } from '../evaluate/answer.tsx'
import { answerOf, type Explained, reasonOf } from '../evaluate/steps.ts'
import { Trial } from '../evaluate/trial.tsx'
import type { Draft } from './draft.ts'
import { flawsOf } from './flaws.ts'
import { sentOf } from './sent.ts'

const words = flag.gets
const rights = ['flag.update', 'flag.evaluate', 'flag.read']

const Got = ({ label, answer }: { readonly label: string; readonly answer: Explained }) => (
  <div className="tight">
    <h3>{label}</h3>
    <p className="bar">
      <strong>
        <Safe text={answerOf(answer)} />
      </strong>
      <span className="muted">{reasonOf(answer)}</span>
    </p>
    <Steps answer={answer} label={words.stepsOf(label)} />
  </div>
)

/** Answers of a flag for one entity, now and with the draft, which the service evaluates (ui.md §11.4). */
export const WhatEntityGets = ({ state: { base, start, final, changes } }: Pick<Edited<Loaded, Draft>, 'state'>) => {
  const { namespaceKey } = base.flag
  const missing = useMissing()(...rights.map((right) => ({ right, namespaceKey })))
  const flawed = Object.keys(flawsOf(start, final)).length > 0
  const drafted = changes.length > 0
  return (
    <Trial
      words={words}
      why={missing ?? (flawed ? words.flawed : undefined)}
      bodyOf={(evaluate) => ({ changes: drafted ? sentOf(start, final).ops : [{ op: 'flag.update' }], evaluate })}
      send={(body) => tryFlag(base, body)}
      render={({ evaluations }, { entityId: entity, context }) => {
        const explained = (said: Explained['said']): Explained => ({
          kind: final.boolean ? 'boolean' : 'variant',
          question: { entity, context },
          said,
        })
        return (
          <div role="status" className="stack">
            <Got label={flag.before} answer={explained(evaluations!.present)} />
            {drafted && <Got label={flag.after} answer={explained(evaluations!.changed)} />}
          </div>
        )
      }}
    />
  )
}
