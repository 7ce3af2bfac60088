import { common } from '../words/common.ts'
import { Button } from './button.tsx'

/** The way through the pages of a list, which the service gives. */
export const Pager = ({
  onPrevious,
  onNext,
}: {
  readonly onPrevious?: (() => void) | undefined
  readonly onNext?: (() => void) | undefined
}) =>
  onPrevious || onNext ? (
    <nav className="pager" aria-label={common.pages}>
      {onPrevious && <Button onClick={onPrevious}>{common.previousPage}</Button>}
      {onNext && <Button onClick={onNext}>{common.nextPage}</Button>}
    </nav>
  ) : null
