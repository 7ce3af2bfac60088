import { PlusIcon } from '@primer/octicons-react'
import { type ReactNode, type RefObject, useEffect, useState } from 'react'
import { common } from '../../words/common.ts'
import { type OrderedWords, order } from '../../words/ordered.ts'
import { Button } from '../button.tsx'
import { Actions, Dialog } from '../feedback/dialog.tsx'
import { useSay } from '../feedback/status.tsx'
import { Select } from '../fields/field.tsx'
import { useFocusLater } from '../focus-later.ts'
import { OrderedItem } from './ordered-item.tsx'

/** Dialog to choose the new position of a list item; positions count from 0. */
const MoveTo = ({
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

type Act = 'edit' | 'up' | 'down' | 'to'

/** Handles Alt + arrow keys inside a list item. */
const useAltArrows = (
  list: RefObject<HTMLElement | null>,
  onMove: (id: string, by: 1 | -1, act: Act) => void,
): void => {
  useEffect(() => {
    const place = list.current
    const onKey = (event: KeyboardEvent) => {
      const by = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : undefined
      const { target } = event
      if (!event.altKey || by === undefined || !(target instanceof HTMLElement)) return
      const id = target.closest<HTMLElement>('li[data-part]')?.dataset['part']
      if (id === undefined) return
      event.preventDefault()
      onMove(id, by, (target.dataset['act'] as Act | undefined) ?? 'edit')
    }
    place?.addEventListener('keydown', onKey)
    return () => place?.removeEventListener('keydown', onKey)
  }, [list, onMove])
}

type Given<P> = {
  readonly words: OrderedWords
  readonly parts: readonly P[]
  readonly why: string | undefined
  /** Sentence of an item, and a note about it. */
  readonly sentence: (part: P) => string
  readonly note?: (part: P) => string
  /** Note that depends on the position only, which counts from 0. */
  readonly mark?: (n: number) => string
  /** Id of the item whose editor is open. */
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
  readonly renderEditor: (part: P, onChange: (change: Partial<P>) => void) => ReactNode
  /** Creates an item with a unique id. */
  readonly fresh: () => P
  /** Updates the items; receives a function of the present items. */
  readonly onChange: (next: (parts: readonly P[]) => readonly P[]) => void
}

/** Ordered list whose items are moved, edited and deleted in place. */
export const OrderedList = <P extends { readonly id: string }>(given: Given<P>) => {
  const { words, parts, why, sentence, note, mark, opened, onOpen, renderEditor, fresh, onChange } = given
  const say = useSay()
  const [moving, setMoving] = useState<number | undefined>()
  const { list, focusLater } = useFocusLater()

  const move = (from: number, to: number, act: Act) => {
    if (why !== undefined || to < 0 || to >= parts.length || to === from) return
    const part = parts[from]!
    onChange((before) => before.toSpliced(from, 1).toSpliced(to, 0, part))
    say(words.moved(to + 1, parts.length))
    focusLater(part.id, act)
  }
  useAltArrows(list, (id, by, act) => {
    const from = parts.findIndex((part) => part.id === id)
    move(from, from + by, act)
  })
  const add = () => {
    const part = fresh()
    onChange((before) => [...before, part])
    onOpen(part.id)
  }
  const remove = (n: number) => {
    onChange((before) => before.toSpliced(n, 1))
    focusLater(parts[n + 1]?.id, 'edit')
  }

  return (
    <section className="stack" ref={list} aria-label={words.many}>
      <h2 tabIndex={-1}>{words.many}</h2>
      {parts.length === 0 && <p className="muted">{words.none}</p>}
      <ol className="parts" aria-label={words.many}>
        {parts.map((part, n) => {
          const open = opened === part.id && why === undefined
          return (
            <OrderedItem
              key={part.id}
              words={words}
              id={part.id}
              sentence={sentence(part)}
              note={note?.(part) ?? ''}
              mark={mark?.(n) ?? ''}
              n={n}
              of={parts.length}
              open={open}
              why={why}
              onOpen={(next) => onOpen(next ? part.id : undefined)}
              onMove={(to, act) => move(n, to, act)}
              onMoveTo={() => setMoving(n)}
              onRemove={() => remove(n)}
            >
              {open &&
                renderEditor(part, (change) =>
                  onChange((before) => before.map((other) => (other.id === part.id ? { ...other, ...change } : other))),
                )}
            </OrderedItem>
          )
        })}
      </ol>
      <div>
        <Button why={why} onClick={add}>
          <PlusIcon />
          {words.add}
        </Button>
      </div>
      {moving !== undefined && (
        <MoveTo
          title={words.moving(moving + 1)}
          from={moving}
          of={parts.length}
          onClose={() => setMoving(undefined)}
          onMove={(to) => {
            setMoving(undefined)
            move(moving, to, 'to')
          }}
        />
      )}
    </section>
  )
}
