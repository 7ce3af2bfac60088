import { Button } from '../../parts/button.tsx'
import { tokens as words } from '../../words/tokens.ts'

/** Actions on the selected tokens. */
export const Selection = ({
  count,
  why,
  onClear,
  onDelete,
}: {
  readonly count: number
  readonly why: string | undefined
  readonly onClear: () => void
  readonly onDelete: () => void
}) => (
  <div className="selection bar" role="region" aria-label={words.selection}>
    <span>{words.selected(count)}</span>
    <Button look="plain" onClick={onClear}>
      {words.clearSelection}
    </Button>
    <Button look="danger" why={why} onClick={onDelete}>
      {words.deleteMany(count)}
    </Button>
  </div>
)
