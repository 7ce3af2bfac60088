import { common } from '../../words/common.ts'
import { Button } from '../button.tsx'

/** Previous and next buttons of a paged list. */
export const Pager = ({
  onPrevious,
  onNext,
  why,
  words = { previous: common.previousPage, next: common.nextPage },
}: {
  readonly onPrevious?: (() => void) | undefined
  readonly onNext?: (() => void) | undefined
  /** Reason why the next page is disabled. */
  readonly why?: string | undefined
  readonly words?: { readonly previous: string; readonly next: string }
}) =>
  onPrevious || onNext ? (
    <nav className="pager" aria-label={common.pages}>
      {onPrevious && <Button onClick={onPrevious}>{words.previous}</Button>}
      {onNext && (
        <Button why={why} onClick={onNext}>
          {words.next}
        </Button>
      )}
    </nav>
  ) : null
