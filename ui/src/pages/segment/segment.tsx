import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { flushSync } from 'react-dom'
import { keys } from '../../api/keys.ts'
import { type LoadedSegment, readSegment } from '../../api/segments.ts'
import { isForm, namesFirstTab } from '../../links.ts'
import { Button } from '../../parts/button.tsx'
import { DraftPage } from '../../parts/editing/draft-page.tsx'
import type { Restored } from '../../parts/editing/editing.ts'
import { type Edited, Editor } from '../../parts/editing/editor.tsx'
import { Restoring } from '../../parts/editing/restoring.tsx'
import { CodeText, Safe } from '../../parts/feedback/safe.tsx'
import { AboutFields, AboutTimes } from '../../parts/fields/about-fields.tsx'
import { Choices } from '../../parts/fields/field.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Gone } from '../../parts/timeline/gone.tsx'
import { OwnTimeline } from '../../parts/timeline/own-timeline.tsx'
import { useWhyNot } from '../../why-not.ts'
import { segments, segment as words } from '../../words/segments.ts'
import { NewSegmentPage } from '../segments/new-segment.tsx'
import { Constraints } from './constraints.tsx'
import { DeleteSegment } from './delete-segment.tsx'
import { type Draft, draftOf } from './draft.ts'
import { segmentEditing } from './editing.ts'
import { SegmentAgain } from './segment-again.tsx'
import { TryIt } from './try-it.tsx'
import { UsedBy } from './used-by.tsx'

const here = getRouteApi('/inside/ns/$ns/segments/$key')
const matches = (['all', 'any'] as const).map((value) => ({ value, label: words.matches[value] }))
type EditedSegment = Edited<LoadedSegment, Draft>

const Head = ({ loaded: { segment, revision } }: { readonly loaded: LoadedSegment }) => (
  <PageHead heading={<Safe text={segment.name} />} title={[segment.name, segments.heading, segment.namespaceKey]}>
    <p className="facts">
      <CodeText look="key" text={segment.key} />
      <span className="muted">{words.revision(revision)}</span>
    </p>
  </PageHead>
)

const Targeting = ({
  edited: { state, flaws, why },
  at,
}: {
  readonly edited: EditedSegment
  readonly at: string | undefined
}) => (
  <div className="stack wide">
    {why === undefined && (
      <Choices
        label={words.match}
        value={state.draft.match}
        options={matches}
        onChange={(match) => state.change(() => ({ match }))}
      />
    )}
    <Constraints draft={state.draft} flaws={flaws} why={why} change={state.change} />
    {at === undefined && (
      <TryIt namespace={state.base.segment.namespaceKey} segmentKey={state.base.segment.key} draft={state.final} />
    )}
    <UsedBy segment={state.base.segment} at={at} />
  </div>
)

const About = ({
  edited: { state, flaws, why },
  whyKept,
  onDelete,
}: {
  readonly edited: EditedSegment
  readonly whyKept: string | undefined
  readonly onDelete: () => void
}) => (
  <div className="form">
    <AboutFields
      of={state.draft}
      wrong={{ name: flaws['segment.name'], description: flaws['segment.description'] }}
      why={why}
      onChange={(part) => state.change(() => part)}
    />
    <AboutTimes of={state.base.segment} />
    <div>
      <Button look="danger" why={whyKept} onClick={onDelete}>
        {words.remove.open}
      </Button>
    </div>
  </div>
)

const SegmentEditor = ({
  loaded,
  queryKey,
  restored,
}: {
  readonly loaded: LoadedSegment
  readonly queryKey: readonly unknown[]
  readonly restored?: Restored<Draft> | undefined
}) => {
  const { ns, key } = here.useParams()
  const { tab, at } = here.useSearch()
  const navigate = useNavigate()
  const why = useWhyNot(at, { right: 'segment.update', namespaceKey: ns })
  const whyKept = useWhyNot(at, { right: 'segment.delete', namespaceKey: ns })
  const [deleting, setDeleting] = useState(false)
  const close = () => setDeleting(false)
  return (
    <Editor
      editing={segmentEditing}
      loaded={loaded}
      queryKey={queryKey}
      why={why}
      restored={restored}
      tabs={{ words, asked: tab, firstNamed: namesFirstTab(key) }}
      viewOf={(part) => (part === 'segment' ? 'about' : 'targeting')}
      renderHead={({ state }) => <Head loaded={state.base} />}
      renderView={(name, edited) =>
        name === 'history' ? (
          <OwnTimeline filter={{ namespaceKey: ns, segmentKey: key }} />
        ) : name === 'about' ? (
          <>
            <About edited={edited} whyKept={whyKept} onDelete={() => setDeleting(true)} />
            {deleting && (
              <DeleteSegment
                loaded={edited.state.base}
                onClose={close}
                onDeleted={() => {
                  flushSync(edited.state.discard)
                  void navigate({ to: '/ns/$ns/segments', params: { ns } })
                }}
              />
            )}
          </>
        ) : (
          <Targeting edited={edited} at={at} />
        )
      }
    />
  )
}

/** Page of a segment, edited as one draft and saved as one change (ui.md §11.5). */
const SegmentPage = () => {
  const { ns, key } = here.useParams()
  const { at, restore } = here.useSearch()
  const queryKey = [...keys.segment(ns, key), at ?? '']
  const moment = at === undefined ? restore : undefined
  return (
    <DraftPage
      words={words}
      name={key}
      namespace={ns}
      queryKey={queryKey}
      read={(signal) => readSegment(ns, key, at, signal)}
      absent={moment === undefined ? undefined : <SegmentAgain moment={moment} />}
      gone={<Gone filter={{ namespaceKey: ns, segmentKey: key }} types="SegmentDeleted" />}
    >
      {(loaded) =>
        moment === undefined ? (
          <SegmentEditor loaded={loaded} queryKey={queryKey} />
        ) : (
          <Restoring
            key={moment}
            moment={moment}
            words={words}
            name={key}
            queryKey={keys.segment(ns, key)}
            read={(then, signal) => readSegment(ns, key, then, signal)}
            // Every part of a segment fits, because none refers to another resource.
            fitted={(then) => ({ draft: draftOf(then), left: [] })}
          >
            {(restored) => <SegmentEditor loaded={loaded} queryKey={queryKey} restored={restored} />}
          </Restoring>
        )
      }
    </DraftPage>
  )
}

/** Renders the segment of an address, or the form for a new one. */
export const SegmentOrForm = () => {
  const { key } = here.useParams()
  const { tab } = here.useSearch()
  return isForm(key, tab) ? <NewSegmentPage /> : <SegmentPage />
}
