import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { type Failure, isFailure } from '../../api/failure.ts'
import { useWrite } from '../../api/write.ts'
import { states } from '../../words/common.ts'
import { pending } from '../../words/pending.ts'
import { actorName } from '../actor.ts'
import { Button } from '../button.tsx'
import { useSay } from '../feedback/status.tsx'
import { Conflict, Gone } from './conflict.tsx'
import type { Editing, Flaws, Revised, Theirs } from './editing.ts'
import { Review } from './review.tsx'
import type { DraftState } from './use-draft.ts'

/** Number of unsaved changes, with buttons to discard or review them. */
const PendingChanges = ({
  count,
  why,
  onDiscard,
  onReview,
}: {
  readonly count: number
  readonly why: string | undefined
  readonly onDiscard: () => void
  readonly onReview: () => void
}) =>
  count === 0 ? null : (
    <section className="pending bar" aria-label={pending.region}>
      <strong>{pending.notSaved(count)}</strong>
      <span className="push bar">
        <Button onClick={onDiscard}>{pending.discard}</Button>
        <Button look="primary" why={why} onClick={onReview} aria-keyshortcuts="Control+Enter">
          {pending.review}
        </Button>
      </span>
    </section>
  )

type Phase<L> =
  | { readonly name: 'editing' }
  | { readonly name: 'review'; readonly failure?: Failure }
  | { readonly name: 'conflict'; readonly found: Theirs<L> }
  | { readonly name: 'gone' }

/** State of the review, and the reason that it holds at first. It opens for a valid draft only. */
type ReviewState = {
  readonly open: boolean
  readonly reason: string
  readonly onOpen: () => void
  readonly onClose: () => void
}

/** Focuses the heading of the page, because the buttons that had the focus disappear with the draft. */
const focusHeading = (): void => {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('main h1')?.focus())
}

type SavingProps<L extends Revised, D extends object, A> = {
  readonly editing: Editing<L, D, A>
  readonly state: DraftState<L, D>
  /** Query key of the resource, updated by a save. */
  readonly queryKey: readonly unknown[]
  readonly why: string | undefined
  readonly review: ReviewState
  readonly onRefused: (flaws: Flaws) => void
  /** Called after the draft was rebased; `left` names the changes that did not apply. */
  readonly onKept: (left: readonly string[]) => void
  /** Effect of the changes. */
  readonly children?: ReactNode
}

/** Sends the draft, and offers what a refusal, a conflict or a deletion leaves to do. */
const useSave = <L extends Revised, D extends object, A>({
  editing,
  state: { base, start, final: draft, changes, discard, rebase },
  queryKey,
  review,
  onRefused,
  onKept,
}: SavingProps<L, D, A>) => {
  const [phase, setPhase] = useState<Phase<L>>({ name: 'editing' })
  const { send, sending } = useWrite()
  const client = useQueryClient()
  const say = useSay()
  const edit = () => setPhase({ name: 'editing' })
  const close = () => {
    edit()
    review.onClose()
  }
  const show = (next: Phase<L>) => {
    setPhase(next)
    if (next.name !== 'review') review.onClose()
  }
  const lookAgain = async (failure: Failure) => {
    try {
      show({ name: 'conflict', found: await editing.readAgain(base) })
    } catch (error) {
      if (!isFailure(error)) throw error
      show(error.status === 404 ? { name: 'gone' } : { name: 'review', failure })
    }
  }
  const save = async (reason: string) => {
    const { write, about } = editing.sent(base, start, draft, reason)
    setPhase({ name: 'review' })
    const outcome = await send<A>(write)
    if (!outcome) return
    if (outcome.done) {
      const revision = outcome.etag ?? ''
      client.setQueryData(queryKey, editing.answered(outcome.value, revision))
      discard()
      say(revision === base.revision ? states.nothingChanged : pending.saved(changes.length))
      close()
      focusHeading()
      return
    }
    const { failure } = outcome
    if (failure.status === 412 || failure.status === 404) return lookAgain(failure)
    const refused = failure.status === 400 ? editing.refusedFlaws(failure.fields, about) : undefined
    if (!refused) return setPhase({ name: 'review', failure })
    close()
    onRefused(refused)
  }
  const keep = (theirs: L) => {
    const { draft: next, left } = editing.merge(start, draft, editing.draftOf(theirs))
    rebase(theirs, next)
    client.setQueryData(queryKey, theirs)
    edit()
    onKept(left)
  }
  const take = (theirs: L) => {
    client.setQueryData(queryKey, theirs)
    discard()
    edit()
  }
  return { phase, sending, edit, close, save, keep, take }
}

/** Unsaved changes, their review, and the result: saved, refused or in conflict. */
export const Saving = <L extends Revised, D extends object, A>(props: SavingProps<L, D, A>) => {
  const { editing, why, review, children } = props
  const { base, start, final: draft, changes, discard } = props.state
  const { thing, draftOf, changesOf, sent } = editing
  const [reason, setReason] = useState<string | undefined>()
  const { phase, sending, edit, close, save, keep, take } = useSave(props)
  if (changes.length === 0 && reason !== undefined) setReason(undefined)
  return (
    <>
      <PendingChanges
        count={changes.length}
        why={why}
        onDiscard={() => {
          discard()
          focusHeading()
        }}
        onReview={review.onOpen}
      />
      {review.open && (
        <Review
          changes={changes}
          failure={phase.name === 'review' ? phase.failure : undefined}
          sending={sending}
          why={why}
          reason={reason ?? review.reason}
          onReason={setReason}
          onClose={close}
          onSave={(reason) => void save(reason)}
        >
          {children}
        </Review>
      )}
      {phase.name === 'conflict' && (
        <Conflict
          thing={thing}
          who={phase.found.by && actorName(phase.found.by)}
          when={phase.found.at}
          theirs={changesOf(start, draftOf(phase.found.theirs))}
          yours={changes}
          onKeep={() => keep(phase.found.theirs)}
          onDiscard={() => take(phase.found.theirs)}
        />
      )}
      {phase.name === 'gone' && (
        <Gone thing={thing} json={JSON.stringify(sent(base, start, draft, '').write.body)} onClose={edit} />
      )}
    </>
  )
}
