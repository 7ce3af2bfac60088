import { useState } from 'react'
import type { Loaded } from '../../api/flags.ts'
import { useAt } from '../../at.ts'
import { Button } from '../../parts/button.tsx'
import type { Flaws } from '../../parts/editing/editing.ts'
import type { ChangeDraft } from '../../parts/editing/use-draft.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { AboutFields, AboutTimes } from '../../parts/fields/about-fields.tsx'
import { isImprecise } from '../../parts/fields/json-flaw.ts'
import { useWhyNot } from '../../why-not.ts'
import { copying as copyWords } from '../../words/copying.ts'
import { flag } from '../../words/flag.ts'
import { CopyFlag } from './copy-flag.tsx'
import type { Draft } from './draft.ts'
import { LastAsked } from './last-asked.tsx'
import { MetadataRows } from './metadata-rows.tsx'

const words = flag.about

const MetadataShown = ({ draft: { metadata } }: { readonly draft: Draft }) =>
  metadata.length === 0 ? (
    <p className="muted">{words.none}</p>
  ) : (
    <dl className="about-list">
      {metadata.map(({ key, value }) => (
        <div key={key} className="bar">
          <dt>
            <Safe text={key} />
          </dt>
          <dd className="mono">
            <Safe text={value} />
          </dd>
        </div>
      ))}
    </dl>
  )

/** Tab “About” of a flag: name, description, metadata, deletion (ui.md §11.4). */
export const About = ({
  loaded,
  draft,
  flaws,
  why,
  whyKept,
  change,
  onDelete,
}: {
  readonly loaded: Loaded
  readonly draft: Draft
  readonly flaws: Flaws
  readonly why: string | undefined
  /** Reason why deletion is disabled. */
  readonly whyKept: string | undefined
  readonly change: ChangeDraft<Draft>
  readonly onDelete: () => void
}) => {
  const [copying, setCopying] = useState(false)
  const at = useAt()
  const whyHere = useWhyNot(at)
  const precise = !isImprecise(loaded.flag.metadata)
  return (
    <div className="form">
      <AboutFields
        of={draft}
        wrong={{ name: flaws['flag.name'], description: flaws['flag.description'] }}
        why={why}
        onChange={(part) => change(() => part)}
      />
      <h2>{words.metadata}</h2>
      {why === undefined && precise ? (
        <MetadataRows rows={draft.metadata} flaws={flaws} onChange={(rows) => change(() => ({ metadata: rows }))} />
      ) : (
        <MetadataShown draft={draft} />
      )}
      {!precise && <p className="notice">{words.precise}</p>}
      <AboutTimes of={loaded.flag} />
      {at === undefined && <LastAsked of={loaded.flag} />}
      <div className="bar">
        <Button why={whyHere} onClick={() => setCopying(true)}>
          {copyWords.open}
        </Button>
        {copying && <CopyFlag of={loaded.flag} onClose={() => setCopying(false)} />}
        <Button look="danger" why={whyKept} onClick={onDelete}>
          {flag.remove.open}
        </Button>
      </div>
    </div>
  )
}
