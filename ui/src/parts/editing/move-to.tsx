import { useState } from 'react'
import { common } from '../../words/common.ts'
import { order } from '../../words/ordered.ts'
import { Button } from '../button.tsx'
import { Actions, Dialog } from '../feedback/dialog.tsx'
import { Select } from '../fields/field.tsx'

/** Dialog to choose the new position of a list item; positions count from 0. */
export const MoveTo = ({
  title,
  from,
  of,
  onClose,
  onMove,
}: {
  readonly title: string
  readonly from: number
  readonly of: number
  readonly onClose: () => void
  readonly onMove: (to: number) => void
}) => {
  const [to, setTo] = useState(String(from + 1))
  const places = Array.from({ length: of }, (_, n) => ({ value: String(n + 1), label: String(n + 1) }))
  return (
    <Dialog title={title} open onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          onMove(Number(to) - 1)
        }}
      >
        <Select label={order.position} value={to} options={places} onChange={setTo} />
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" look="primary">
            {order.move}
          </Button>
        </Actions>
      </form>
    </Dialog>
  )
}
