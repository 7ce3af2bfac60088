import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Actions, Dialog } from '../../parts/dialog.tsx'
import { Select } from '../../parts/field.tsx'
import { common } from '../../words/common.ts'
import { flag } from '../../words/flag.ts'

const words = flag.move

/** Asks to which place of so many a rollout goes; places count from 0. */
export const MoveTo = ({
  from,
  of,
  onClose,
  onMove,
}: {
  readonly from: number
  readonly of: number
  readonly onClose: () => void
  readonly onMove: (to: number) => void
}) => {
  const [to, setTo] = useState(String(from + 1))
  const places = Array.from({ length: of }, (_, n) => ({ value: String(n + 1), label: String(n + 1) }))
  return (
    <Dialog title={words.title(from + 1)} open onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          onMove(Number(to) - 1)
        }}
      >
        <Select label={words.position} value={to} options={places} onChange={setTo} />
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" look="primary">
            {words.submit}
          </Button>
        </Actions>
      </form>
    </Dialog>
  )
}
