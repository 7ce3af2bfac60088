import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Failure, isFailure } from '../../api/failure.ts'
import { type ChangedFlag, flagChanges, type ListedFlag, type Loaded, readFlag, readFlags } from '../../api/flags.ts'
import { useWrite } from '../../api/write.ts'
import { Conflict, Gone } from '../../parts/conflict.tsx'
import { PendingChanges } from '../../parts/pending-changes.tsx'
import { Review } from '../../parts/review.tsx'
import { useSay } from '../../parts/status.tsx'
import { states } from '../../words/common.ts'
import { flag as words } from '../../words/flag.ts'
import { pending } from '../../words/pending.ts'
import { actorName } from '../../parts/actor.ts'
import { changesOf, sentOf } from './changes.ts'
import { draftOf } from './draft.ts'
import { type Flaws, refusedFlaws } from './flaws.ts'
import { merge } from './merge.ts'
import { Portions } from './portions.tsx'
import type { DraftState } from './use-draft.ts'

type Phase =
  | { readonly name: 'editing' }
  | { readonly name: 'review'; readonly failure?: Failure }
  | { readonly name: 'conflict'; readonly theirs: Loaded; readonly last: ListedFlag | undefined }
  | { readonly name: 'gone' }

/** What is not saved yet, its review, and what becomes of it: saved, refused, or somebody else was faster. */
export const Saving = ({
  state,
  queryKey,
  why,
  review,
  onRefused,
  onKept,
}: {
  readonly state: DraftState
  /** The read of the flag, which a save makes anew. */
  readonly queryKey: readonly unknown[]
  readonly why: string | undefined
  /** Whether the review is asked for, and how that is changed; it opens for what is right alone. */
  readonly review: { readonly open: boolean; readonly onOpen: () => void; readonly onClose: () => void }
  readonly onRefused: (flaws: Flaws) => void
  /** The draft stands on another state now; what did not fit is named. */
  readonly onKept: (left: readonly string[]) => void
}) => {
  const { base, start, draft, changes, discard, rebase } = state
  const [phase, setPhase] = useState<Phase>({ name: 'editing' })
  const { send, sending } = useWrite()
  const client = useQueryClient()
  const say = useSay()
  const { namespaceKey, key } = base.flag

  const close = () => {
    setPhase({ name: 'editing' })
    review.onClose()
  }
  const show = (next: Phase) => {
    setPhase(next)
    if (next.name !== 'review') review.onClose()
  }
  const lookAgain = async (failure: Failure) => {
    try {
      const [theirs, { flags }] = await Promise.all([
        readFlag(namespaceKey, key, undefined),
        readFlags(namespaceKey, { q: key, sort: 'changedAt', order: 'desc' }),
      ])
      show({ name: 'conflict', theirs, last: flags.find((listed) => listed.key === key) })
    } catch (error) {
      if (!isFailure(error)) throw error
      show(error.status === 404 ? { name: 'gone' } : { name: 'review', failure })
    }
  }
  const save = async (reason: string) => {
    const { ops, about } = sentOf(start, draft)
    setPhase({ name: 'review' })
    const outcome = await send<ChangedFlag>(flagChanges(base.flag, base.revision, ops, reason))
    if (!outcome) return
    if (outcome.done) {
      const { flag, rollouts, rules } = outcome.value
      const revision = outcome.etag ?? ''
      client.setQueryData(queryKey, { flag, rollouts, rules, revision })
      discard()
      say(revision === base.revision ? states.nothingChanged : pending.saved(changes.length))
      close()
      // The button that was pressed first is gone with the draft.
      requestAnimationFrame(() => document.querySelector<HTMLElement>('main h1')?.focus())
      return
    }
    const { failure } = outcome
    if (failure.status === 412 || failure.status === 404) return lookAgain(failure)
    const refused = failure.status === 400 ? refusedFlaws(failure.fields, about) : undefined
    if (!refused) return setPhase({ name: 'review', failure })
    close()
    onRefused(refused)
  }
  const keep = (theirs: Loaded) => {
    const { draft: next, left } = merge(start, draft, draftOf(theirs))
    rebase(theirs, next)
    client.setQueryData(queryKey, theirs)
    setPhase({ name: 'editing' })
    onKept(left)
  }

  return (
    <>
      <PendingChanges count={changes.length} why={why} onDiscard={discard} onReview={review.onOpen} />
      {review.open && (
        <Review
          changes={changes}
          failure={phase.name === 'review' ? phase.failure : undefined}
          sending={sending}
          why={why}
          onClose={close}
          onSave={(reason) => void save(reason)}
        >
          {draft.boolean && (
            <>
              <h3>{words.before}</h3>
              <Portions name={words.before} draft={start} />
              <h3>{words.after}</h3>
              <Portions name={words.after} draft={draft} />
            </>
          )}
        </Review>
      )}
      {phase.name === 'conflict' && (
        <Conflict
          thing={words.thing}
          who={phase.last?.changedBy && actorName(phase.last.changedBy)}
          when={phase.last?.changedAt}
          theirs={changesOf(start, draftOf(phase.theirs))}
          yours={changes}
          onKeep={() => keep(phase.theirs)}
          onDiscard={() => {
            client.setQueryData(queryKey, phase.theirs)
            discard()
            setPhase({ name: 'editing' })
          }}
        />
      )}
      {phase.name === 'gone' && (
        <Gone
          thing={words.thing}
          json={JSON.stringify({ changes: sentOf(start, draft).ops })}
          onClose={() => setPhase({ name: 'editing' })}
        />
      )}
    </>
  )
}
