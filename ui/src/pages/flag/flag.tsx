import { Tabs } from '@base-ui/react/tabs'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import { isFailure } from '../../api/failure.ts'
import { type Loaded, readFlag } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { LeaveGuard } from '../../parts/leave-guard.tsx'
import { NotThere } from '../../parts/not-there.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Safe } from '../../parts/safe.tsx'
import { Loading, LoadFailed } from '../../parts/states.tsx'
import { useFocusFirstWrong } from '../../parts/wrong.ts'
import { useWhyNot } from '../../why-not.ts'
import { flag as words } from '../../words/flag.ts'
import { flags } from '../../words/flags.ts'
import { pending } from '../../words/pending.ts'
import { About } from './about.tsx'
import { type Flaws, flawsOf } from './flaws.ts'
import { Saving } from './saving.tsx'
import { Targeting } from './targeting.tsx'
import { useDraft } from './use-draft.ts'

const here = getRouteApi('/inside/ns/$ns/flags/$key')
type Tab = 'targeting' | 'about'

/** Asks for a review with Ctrl or Cmd and Enter, where no form takes them. */
const useReviewKey = (onReview: () => void): void => {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const elsewhere = event.target instanceof HTMLElement && event.target.closest('form, [role=dialog]')
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !elsewhere) onReview()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [onReview])
}

const Kept = ({ left }: { readonly left: readonly string[] }) => (
  <div role="alert" className="alert warn">
    <p>{pending.conflict.kept}</p>
    {left.length > 0 && (
      <>
        <p>{pending.conflict.left}</p>
        <ul>
          {left.map((sentence) => (
            <li key={sentence}>
              <Safe text={sentence} />
            </li>
          ))}
        </ul>
      </>
    )}
  </div>
)

const Editor = ({ loaded, queryKey }: { readonly loaded: Loaded; readonly queryKey: readonly unknown[] }) => {
  const { ns, key } = here.useParams()
  const { tab: asked, at } = here.useSearch()
  const navigate = useNavigate()
  const why = useWhyNot(at)
  const state = useDraft(loaded)
  const { base, start, draft, changes, change, discard } = state
  const [reviewing, setReviewing] = useState(false)
  const [checked, setChecked] = useState(false)
  const [refused, setRefused] = useState<Flaws>({})
  const [opened, setOpened] = useState<string | undefined>()
  const [left, setLeft] = useState<readonly string[] | undefined>()
  const focusWrong = useFocusFirstWrong()
  const tab: Tab = asked === 'about' ? 'about' : 'targeting'
  const show = (next: string) =>
    navigate({
      to: '.',
      search: ({ tab: _tab, ...rest }) => (next === 'targeting' ? rest : { ...rest, tab: next }) as never,
      replace: true,
      resetScroll: false,
    })
  const flaws = { ...refused, ...(checked && flawsOf(start, draft)) }

  const point = async (found: Flaws) => {
    const [first = ''] = Object.keys(found)
    const part = first.slice(0, first.indexOf('.'))
    if (part === 'flag') await show('about')
    else {
      setOpened(part)
      await show('targeting')
    }
    focusWrong()
  }
  const review = () => {
    if (changes.length === 0 || why !== undefined || reviewing) return
    const found = flawsOf(start, draft)
    setRefused({})
    const wrong = Object.keys(found).length > 0
    setChecked(wrong)
    if (wrong) void point(found)
    else setReviewing(true)
  }
  useReviewKey(review)
  const edit: typeof change = (part) => {
    setRefused({})
    change(part)
  }
  const drop = () => {
    setLeft(undefined)
    discard()
  }
  const given = { flaws, why, state: { ...state, change: edit, discard: drop } }

  return (
    <>
      <PageHead heading={<Safe text={base.flag.name} />} title={[base.flag.name, flags.heading, ns]}>
        <p className="facts">
          <code className="key">
            <Safe text={key} />
          </code>
          <span className="badge bare">{flags.typeOf(base.flag.type)}</span>
          <span className="muted">{words.revision(base.revision)}</span>
        </p>
      </PageHead>
      {left && <Kept left={left} />}
      <Tabs.Root value={tab} onValueChange={(next) => void show(String(next))}>
        <Tabs.List className="tabs" aria-label={words.title}>
          <Tabs.Tab className="tab" value="targeting">
            {words.tabs.targeting}
          </Tabs.Tab>
          <Tabs.Tab className="tab" value="about">
            {words.tabs.about}
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="targeting">
          <Targeting {...given} opened={opened} onOpen={setOpened} />
        </Tabs.Panel>
        <Tabs.Panel value="about">
          <About
            {...given}
            loaded={base}
            draft={draft}
            change={edit}
            onDeleted={() => {
              flushSync(drop)
              void navigate({ to: '/ns/$ns/flags', params: { ns } })
            }}
          />
        </Tabs.Panel>
      </Tabs.Root>
      <Saving
        state={given.state}
        queryKey={queryKey}
        why={why}
        review={{ open: reviewing, onOpen: review, onClose: () => setReviewing(false) }}
        onRefused={(found) => {
          setRefused(found)
          void point(found)
        }}
        onKept={setLeft}
      />
      <LeaveGuard changes={changes.length} />
    </>
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
      {data && <Editor key={queryKey.join('/')} loaded={data} queryKey={queryKey} />}
    </>
  )
}
