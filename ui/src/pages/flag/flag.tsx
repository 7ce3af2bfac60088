import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { flushSync } from 'react-dom'
import { flagCreation, type Loaded, readFlag } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { isForm, namesFirstTab } from '../../links.ts'
import { DraftPage } from '../../parts/editing/draft-page.tsx'
import type { Restored } from '../../parts/editing/editing.ts'
import { Editor } from '../../parts/editing/editor.tsx'
import { MakeAgain } from '../../parts/editing/make-again.tsx'
import { Restoring } from '../../parts/editing/restoring.tsx'
import { Gone } from '../../parts/timeline/gone.tsx'
import { OwnTimeline } from '../../parts/timeline/own-timeline.tsx'
import { useWhyNot } from '../../why-not.ts'
import { flag as words } from '../../words/flag.ts'
import { flags } from '../../words/flags.ts'
import { restore } from '../../words/restore.ts'
import { NewFlagPage } from '../flags/new-flag.tsx'
import { About } from './about.tsx'
import { sourceOf } from './copied.ts'
import { CopiedFlag, Copying } from './copying.tsx'
import { DeleteFlag } from './delete-flag.tsx'
import type { Draft } from './draft.ts'
import { flagEditing } from './editing.ts'
import { Effect } from './effect.tsx'
import { FlagHead } from './flag-head.tsx'
import { fittedFlag, readPastFlag } from './restore.ts'
import { Targeting } from './targeting.tsx'

const here = getRouteApi('/inside/ns/$ns/flags/$key')

/** Page that creates a deleted flag again, switched off, before its state at a moment is restored. */
const FlagAgain = ({ moment }: { readonly moment: string }) => {
  const { ns, key } = here.useParams()
  return (
    <MakeAgain
      words={{ thing: words.thing, notFound: words.notFound, section: flags.heading }}
      namespace={ns}
      name={key}
      moment={moment}
      queryKey={keys.flag(ns, key)}
      read={(then, signal) => readFlag(ns, key, then, signal)}
      creation={({ flag: { name, description, type } }, reason) =>
        flagCreation(ns, { key, name, description, type, enabled: false }, reason)
      }
      first={restore.again.off}
    />
  )
}

const FlagEditor = ({
  loaded,
  queryKey,
  restored,
}: {
  readonly loaded: Loaded
  readonly queryKey: readonly unknown[]
  readonly restored?: Restored<Draft> | undefined
}) => {
  const { ns, key } = here.useParams()
  const { tab, at } = here.useSearch()
  const navigate = useNavigate()
  const why = useWhyNot(at, { right: 'flag.update', namespaceKey: ns })
  const whyKept = useWhyNot(at, { right: 'flag.delete', namespaceKey: ns })
  const [deleting, setDeleting] = useState(false)
  const [opened, setOpened] = useState<string | undefined>()
  return (
    <Editor
      editing={flagEditing}
      loaded={loaded}
      queryKey={queryKey}
      why={why}
      restored={restored}
      tabs={{ words, asked: tab, firstNamed: namesFirstTab(key) }}
      viewOf={(part) => {
        if (part === 'flag') return 'about'
        setOpened(part)
        return 'targeting'
      }}
      renderHead={({ state }) => (
        <>
          <FlagHead loaded={state.base} why={whyKept} onDelete={() => setDeleting(true)} />
          {deleting && (
            <DeleteFlag
              loaded={state.base}
              onClose={() => setDeleting(false)}
              onDeleted={() => {
                flushSync(state.discard)
                void navigate({ to: '/ns/$ns/flags', params: { ns } })
              }}
            />
          )}
        </>
      )}
      renderView={(name, edited) =>
        name === 'history' ? (
          <OwnTimeline filter={{ namespaceKey: ns, flagKey: key }} />
        ) : name === 'about' ? (
          <About
            loaded={edited.state.base}
            draft={edited.state.draft}
            change={edited.state.change}
            flaws={edited.flaws}
            why={edited.why}
            whyKept={whyKept}
            onDelete={() => setDeleting(true)}
          />
        ) : (
          <Targeting {...edited} opened={opened} onOpen={setOpened} past={at !== undefined} />
        )
      }
      renderEffect={(start, draft) => <Effect start={start} draft={draft} />}
    />
  )
}

/** Page of a flag, edited as one draft and saved as one change (ui.md §11.4). */
const FlagPage = () => {
  const { ns, key } = here.useParams()
  const { at, restore, copy } = here.useSearch()
  const queryKey = [...keys.flag(ns, key), at ?? '']
  const moment = at === undefined ? restore : undefined
  const source = at === undefined && moment === undefined ? sourceOf(copy) : undefined
  return (
    <DraftPage
      words={words}
      name={key}
      namespace={ns}
      queryKey={queryKey}
      read={(signal) => readFlag(ns, key, at, signal)}
      absent={
        source ? <CopiedFlag source={source} /> : moment === undefined ? undefined : <FlagAgain moment={moment} />
      }
      gone={<Gone filter={{ namespaceKey: ns, flagKey: key }} types="FlagDeleted" />}
    >
      {(loaded) =>
        source ? (
          <Copying key={copy} source={source} present={loaded}>
            {(copied) => <FlagEditor loaded={loaded} queryKey={queryKey} restored={copied} />}
          </Copying>
        ) : moment === undefined ? (
          <FlagEditor loaded={loaded} queryKey={queryKey} />
        ) : (
          <Restoring
            key={moment}
            moment={moment}
            words={words}
            name={key}
            queryKey={keys.flag(ns, key)}
            read={(then, signal) => readPastFlag(loaded, then, signal)}
            fitted={(then) => fittedFlag(loaded, then)}
          >
            {(restored) => <FlagEditor loaded={loaded} queryKey={queryKey} restored={restored} />}
          </Restoring>
        )
      }
    </DraftPage>
  )
}

/** Renders the flag of an address, or the form for a new one. */
export const FlagOrForm = () => {
  const { key } = here.useParams()
  const { tab } = here.useSearch()
  return isForm(key, tab) ? <NewFlagPage /> : <FlagPage />
}
