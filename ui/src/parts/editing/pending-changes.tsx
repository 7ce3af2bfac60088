import { pending } from '../../words/pending.ts'
import { Button } from '../button.tsx'

/** Number of unsaved changes, with buttons to discard or review them. */
export const PendingChanges = ({
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
