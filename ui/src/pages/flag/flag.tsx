import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { flushSync } from 'react-dom'
import { isFailure } from '../../api/failure.ts'
import { type Loaded, readFlag } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { Editor } from '../../parts/editor.tsx'
import { NotThere } from '../../parts/not-there.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Safe } from '../../parts/safe.tsx'
import { Loading, LoadFailed } from '../../parts/states.tsx'
import { useWhyNot } from '../../why-not.ts'
import { flag as words } from '../../words/flag.ts'
import { flags } from '../../words/flags.ts'
import { About } from './about.tsx'
import type { Draft } from './draft.ts'
import { flagEditing } from './editing.ts'
import { Portions } from './portions.tsx'
import { Targeting } from './targeting.tsx'

const here = getRouteApi('/inside/ns/$ns/flags/$key')

const Head = ({ loaded: { flag, revision } }: { readonly loaded: Loaded }) => (
  <PageHead heading={<Safe text={flag.name} />} title={[flag.name, flags.heading, flag.namespaceKey]}>
    <p className="facts">
      <code className="key">
        <Safe text={flag.key} />
      </code>
      <span className="badge bare">{flags.typeOf(flag.type)}</span>
      <span className="muted">{words.revision(revision)}</span>
    </p>
  </PageHead>
)

/** The answers of a Boolean flag before and after a draft is saved. */
const Effect = ({ start, draft }: { readonly start: Draft; readonly draft: Draft }) =>
  draft.boolean && (
    <>
      <h3>{words.before}</h3>
      <Portions name={words.before} draft={start} />
      <h3>{words.after}</h3>
      <Portions name={words.after} draft={draft} />
    </>
  )

const FlagEditor = ({ loaded, queryKey }: { readonly loaded: Loaded; readonly queryKey: readonly unknown[] }) => {
  const { ns } = here.useParams()
  const { tab, at } = here.useSearch()
  const navigate = useNavigate()
  const why = useWhyNot(at)
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
      }}
      viewOf={(part) => {
        if (part === 'flag') return 'about'
        setOpened(part)
        return 'targeting'
      }}
      renderHead={({ state }) => <Head loaded={state.base} />}
      renderView={(name, edited) =>
        name === 'about' ? (
          <About
            loaded={edited.state.base}
            draft={edited.state.draft}
            change={edited.state.change}
            flaws={edited.flaws}
            why={edited.why}
            onDeleted={() => {
              flushSync(edited.state.discard)
              void navigate({ to: '/ns/$ns/flags', params: { ns } })
            }}
          />
        ) : (
          <Targeting {...edited} opened={opened} onOpen={setOpened} />
        )
      }
      renderEffect={(start, draft) => <Effect start={start} draft={draft} />}
    />
  )
}

/** A flag: what it answers, edited as one draft and saved as one change (ui.md §11.4). */
export const FlagPage = () => {
  const { ns, key } = here.useParams()
  const { at } = here.useSearch()
  const queryKey = [...keys.flag(ns, key), at ?? '']
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => readFlag(ns, key, at, signal) })
  if (!data && isFailure(error) && error.status === 404)
    return <NotThere thing={words.thing} heading={words.notFound} name={key} namespace={ns} />
  return (
    <>
      {error && <LoadFailed things={words.thing} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && <FlagEditor key={queryKey.join('/')} loaded={data} queryKey={queryKey} />}
    </>
  )
}
