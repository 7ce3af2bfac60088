import { common } from '../../words/common.ts'
import { Button } from '../button.tsx'

/** The way through the pages of a list, which the service gives. */
export const Pager = ({
  onPrevious,
  onNext,
  why,
}: {
  readonly onPrevious?: (() => void) | undefined
  readonly onNext?: (() => void) | undefined
  /** Why the next page cannot be asked for. */
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
