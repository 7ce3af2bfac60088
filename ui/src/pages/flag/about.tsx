import { useState } from 'react'
import { serviceNow } from '../../api/clock.ts'
import type { Loaded } from '../../api/flags.ts'
import { Button } from '../../parts/button.tsx'
import { TextArea, TextField } from '../../parts/field.tsx'
import { Safe } from '../../parts/safe.tsx'
import { Time } from '../../parts/time.tsx'
import { flag } from '../../words/flag.ts'
import { DeleteFlag } from './delete-flag.tsx'
import type { Draft } from './draft.ts'
import type { Flaws } from '../../parts/editing.ts'
import { isImprecise } from './metadata.ts'
import { MetadataRows } from './metadata-rows.tsx'
import type { ChangeDraft } from '../../parts/use-draft.ts'

const words = flag.about
const DAY_MS = 86_400_000

const Shown = ({ draft: { name, description } }: { readonly draft: Draft }) => (
  <dl className="about-list">
    <dt>{words.name}</dt>
    <dd>
      <Safe text={name} />
    </dd>
    <dt>{words.description}</dt>
    <dd>
      <Safe text={description === '' ? words.none : description} />
    </dd>
  </dl>
)

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

/** What a flag is called and what is noted about it; its end (ui.md §11.4). */
export const About = ({
  loaded,
  draft,
  flaws,
  why,
  change,
  onDeleted,
}: {
  readonly loaded: Loaded
  readonly draft: Draft
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly change: ChangeDraft<Draft>
  readonly onDeleted: () => void
}) => {
  const [deleting, setDeleting] = useState(false)
  const { createdAt, updatedAt, metadata } = loaded.flag
  const precise = !isImprecise(metadata)
  return (
    <div className="form">
      {why === undefined ? (
        <>
          <TextField
            label={words.name}
            value={draft.name}
            wrong={flaws['flag.name']}
            onChange={(name) => change(() => ({ name }))}
          />
          <TextArea
            label={words.description}
            value={draft.description}
            wrong={flaws['flag.description']}
            onChange={(description) => change(() => ({ description }))}
          />
        </>
      ) : (
        <Shown draft={draft} />
      )}
      <h2>{words.metadata}</h2>
      {why === undefined && precise ? (
        <MetadataRows rows={draft.metadata} flaws={flaws} onChange={(rows) => change(() => ({ metadata: rows }))} />
      ) : (
        <MetadataShown draft={draft} />
      )}
      {!precise && <p className="notice">{words.precise}</p>}
      <dl className="about-list">
        <dt>{words.created}</dt>
        <dd>
          <Time instant={createdAt} />
        </dd>
        <dt>{words.changed}</dt>
        <dd>
          <Time instant={updatedAt} />
        </dd>
      </dl>
      <div>
        <Button look="danger" why={why} onClick={() => setDeleting(true)}>
          {flag.remove.open}
        </Button>
      </div>
      {deleting && (
        <DeleteFlag
          loaded={loaded}
          confirm={serviceNow() - Date.parse(createdAt) > DAY_MS}
          onClose={() => setDeleting(false)}
          onDeleted={onDeleted}
        />
      )}
    </div>
  )
}
