import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { flushSync } from 'react-dom'
import { type Loaded, readFlag } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { isForm, namesFirstTab } from '../../links.ts'
import { DraftPage } from '../../parts/editing/draft-page.tsx'
import { Editor } from '../../parts/editing/editor.tsx'
import { useWhyNot } from '../../why-not.ts'
import { flag as words } from '../../words/flag.ts'
import { NewFlagPage } from '../flags/new-flag.tsx'
import { About } from './about.tsx'
import { DeleteFlag } from './delete-flag.tsx'
import { flagEditing } from './editing.ts'
import { Effect } from './effect.tsx'
import { FlagHead } from './flag-head.tsx'
import { Targeting } from './targeting.tsx'

const here = getRouteApi('/inside/ns/$ns/flags/$key')

const FlagEditor = ({ loaded, queryKey }: { readonly loaded: Loaded; readonly queryKey: readonly unknown[] }) => {
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
      tabs={{
        name: words.title,
        of: [
          { name: 'targeting', words: words.tabs.targeting },
          { name: 'about', words: words.tabs.about },
        ],
        asked: tab,
        firstNamed: namesFirstTab(key),
      }}
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
        name === 'about' ? (
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
          <Targeting {...edited} opened={opened} onOpen={setOpened} />
        )
      }
      renderEffect={(start, draft) => <Effect start={start} draft={draft} />}
    />
  )
}

/** Page of a flag, edited as one draft and saved as one change (ui.md §11.4). */
const FlagPage = () => {
  const { ns, key } = here.useParams()
  const { at } = here.useSearch()
  const queryKey = [...keys.flag(ns, key), at ?? '']
  return (
    <DraftPage
      words={words}
      name={key}
      namespace={ns}
      queryKey={queryKey}
      read={(signal) => readFlag(ns, key, at, signal)}
    >
      {(loaded) => <FlagEditor loaded={loaded} queryKey={queryKey} />}
    </DraftPage>
  )
}

/** Renders the flag of an address, or the form for a new one. */
export const FlagOrForm = () => {
  const { key } = here.useParams()
  const { tab } = here.useSearch()
  return isForm(key, tab) ? <NewFlagPage /> : <FlagPage />
}
