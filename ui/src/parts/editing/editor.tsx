import { Tabs } from '@base-ui/react/tabs'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { history } from '../../words/history.ts'
import { pending } from '../../words/pending.ts'
import { useFocusFirstWrong } from '../feedback/wrong.ts'
import type { Editing, Flaws, Restored, Revised } from './editing.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { LeftOut } from './left-out.tsx'
import { RestoredNotice } from './restored-notice.tsx'
import { Saving } from './saving.tsx'
import { type DraftState, useDraft } from './use-draft.ts'

/** Edit state of a resource, for the components that show it. */
export type Edited<L extends Revised, D extends object> = {
  readonly state: DraftState<L, D>
  readonly flaws: Flaws
  /** Reason why editing is disabled. */
  readonly why: string | undefined
}

/** Opens the review on Ctrl or Cmd + Enter outside of forms and dialogs. */
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

/** Notice that the changes were rebased; scrolls itself into view. */
const Kept = ({ left }: { readonly left: readonly string[] }) => {
  const notice = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Newer browsers return a promise, which must not become the clean-up.
    notice.current?.scrollIntoView({ block: 'center' })
  }, [])
  return (
    <div role="alert" className="alert warn" ref={notice}>
      <p>{pending.conflict.kept}</p>
      <LeftOut left={left} />
    </div>
  )
}

type EditorProps<L extends Revised, D extends object, A> = {
  readonly editing: Editing<L, D, A>
  readonly loaded: L
  /** Query key of the resource. */
  readonly queryKey: readonly unknown[]
  readonly why: string | undefined
  /** Draft with which the edit begins, if another state is restored or copied. */
  readonly restored?: Restored<D> | undefined
  /** The words of the tabs, and the tab that the address names. */
  readonly tabs: {
    readonly words: { readonly title: string; readonly tabs: Readonly<Record<'targeting' | 'about', string>> }
    readonly asked: string | undefined
    /** Whether the address of the first tab names it. */
    readonly firstNamed: boolean
  }
  /** Returns the tab in which a part is edited. */
  readonly viewOf: (part: string) => string
  readonly renderHead: (edited: Edited<L, D>) => ReactNode
  readonly renderView: (name: string, edited: Edited<L, D>) => ReactNode
  /** Effect of the draft, shown in the review. */
  readonly renderEffect?: (start: D, draft: D) => ReactNode
}
/** The tabs by their name in the address, the open one, and the function that opens another. The first is the default. */
const useTab = ({ words, asked, firstNamed }: EditorProps<Revised, object, unknown>['tabs']) => {
  const navigate = useNavigate()
  const first = { name: 'targeting', words: words.tabs.targeting }
  const tabs = [first, { name: 'history', words: history.heading }, { name: 'about', words: words.tabs.about }]
  return {
    tabs,
    open: tabs.find(({ name }) => name === asked) ?? first,
    show: (name: string) =>
      navigate({
        to: '.',
        search: ({ tab: _tab, ...rest }) =>
          (name === first.name && !firstNamed ? rest : { ...rest, tab: name }) as never,
        replace: true,
        resetScroll: false,
      }),
  }
}

/** Returns a function that ends the draft, and removes a restored state from the address. */
const useDiscard = (discard: () => void, restored: boolean) => {
  const navigate = useNavigate()
  return () => {
    if (!restored) return discard()
    // The draft ends before the address changes, so that nothing unsaved is left.
    flushSync(discard)
    void navigate({
      to: '.',
      search: ({ restore: _restore, copy: _copy, ...rest }) => rest as never,
      replace: true,
      resetScroll: false,
    })
  }
}

/** Editor of a resource: one draft, several tabs, one request to save (ui.md §11.4). */
export const Editor = <L extends Revised, D extends object, A>(props: EditorProps<L, D, A>) => {
  const { editing, queryKey, why, restored, viewOf, renderHead, renderView, renderEffect } = props
  const drafted = useDraft(editing, props.loaded, restored?.draft)
  const { start, final, changes } = drafted
  const [reviewing, setReviewing] = useState(false)
  const [checked, setChecked] = useState(false)
  const [refused, setRefused] = useState<Flaws>({})
  const [kept, setKept] = useState<{ readonly n: number; readonly left: readonly string[] } | undefined>()
  const focusWrong = useFocusFirstWrong()
  const { tabs, open, show } = useTab(props.tabs)
  const discard = useDiscard(drafted.discard, restored !== undefined)

  const point = async (found: Flaws) => {
    const [field = ''] = Object.keys(found)
    await show(viewOf(field.slice(0, field.indexOf('.'))))
    focusWrong()
  }
  const flawsNow = () => editing.flawsOf(start, final, restored?.draft)
  const review = () => {
    if (changes.length === 0 || why !== undefined || reviewing) return
    const found = flawsNow()
    setRefused({})
    const wrong = Object.keys(found).length > 0
    setChecked(wrong)
    if (wrong) void point(found)
    else setReviewing(true)
  }
  useReviewKey(review)
  const state: typeof drafted = {
    ...drafted,
    change: (part) => {
      setRefused({})
      drafted.change(part)
    },
    discard: () => {
      setKept(undefined)
      discard()
    },
  }
  const edited = { state, why, flaws: { ...refused, ...(checked && flawsNow()) } }
  const onRefused = (found: Flaws) => {
    setRefused(found)
    void point(found)
  }
  return (
    <>
      {renderHead(edited)}
      {restored && !kept && <RestoredNotice restored={restored} changes={changes.length} />}
      {kept && <Kept key={kept.n} left={kept.left} />}
      <Tabs.Root value={open.name} onValueChange={(next) => void show(String(next))}>
        <Tabs.List className="tabs" aria-label={props.tabs.words.title}>
          {tabs.map(({ name, words }) => (
            <Tabs.Tab key={name} className="tab" value={name}>
              {words}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(({ name }) => (
          <Tabs.Panel key={name} value={name}>
            {renderView(name, edited)}
          </Tabs.Panel>
        ))}
      </Tabs.Root>
      <Saving
        {...{ editing, state, queryKey, why, onRefused }}
        review={{ open: reviewing, reason: restored?.reason ?? '', onOpen: review, onClose: () => setReviewing(false) }}
        onKept={(left) => setKept({ n: (kept?.n ?? 0) + 1, left })}
      >
        {renderEffect?.(start, final)}
      </Saving>
      <LeaveGuard changes={changes.length} />
    </>
  )
}
