import { common } from '../../words/common.ts'
import { Button } from '../button.tsx'

/** Previous and next buttons of a paged list. */
export const Pager = ({
  onPrevious,
  onNext,
  why,
}: {
  readonly onPrevious?: (() => void) | undefined
  readonly onNext?: (() => void) | undefined
  /** Reason why the next page is disabled. */
  readonly why?: string | undefined
}) =>
  onPrevious || onNext ? (
    <nav className="pager" aria-label={common.pages}>
      {onPrevious && <Button onClick={onPrevious}>{common.previousPage}</Button>}
      {onNext && (
        <Button why={why} onClick={onNext}>
          {common.nextPage}
        </Button>
      )}
    </nav>
  ) : null
