import { PlusIcon } from '@primer/octicons-react'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { useSay } from '../../parts/status.tsx'
import { flag as words } from '../../words/flag.ts'
import { type Draft, freshRollout, moved, type RolloutDraft } from './draft.ts'
import type { Flaws } from '../../parts/editing.ts'
import { MoveTo } from './move-to.tsx'
import { RolloutItem } from './rollout-item.tsx'
import type { ChangeDraft } from '../../parts/use-draft.ts'

type Act = 'edit' | 'up' | 'down' | 'to'
type Given = {
  readonly namespace: string
  readonly start: Draft
  readonly rollouts: readonly RolloutDraft[]
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly change: ChangeDraft<Draft>
  /** The rollout whose editor is open. */
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
}

/** Gives the focus to a button of a rollout once it is drawn at its new place. */
const useFocusLater = () => {
  const list = useRef<HTMLElement>(null)
  const [wanted, setWanted] = useState<{ readonly id: string | undefined; readonly act: Act } | undefined>()
  useEffect(() => {
    if (!wanted) return
    const { id, act } = wanted
    const item = [...(list.current?.querySelectorAll<HTMLElement>('li[data-part]') ?? [])].find(
      ({ dataset }) => dataset['part'] === id,
    )
    const place =
      item?.querySelector<HTMLElement>(`[data-act=${act}]`) ?? list.current?.querySelector<HTMLElement>('h2')
    place?.focus()
  }, [wanted])
  return { list, focusLater: (id: string | undefined, act: Act) => setWanted({ id, act }) }
}

/** Hears Alt and an arrow anywhere in a part of a list. */
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

/** The rollouts of a flag in their order, each edited in its place (ui.md §11.4). */
export const Rollouts = ({ namespace, start, rollouts, flaws, why, change, opened, onOpen }: Given) => {
  const say = useSay()
  const [moving, setMoving] = useState<number | undefined>()
  const fresh = useRef(0)
  const { list, focusLater } = useFocusLater()
  const saved = new Set(start.rollouts.map(({ id }) => id))

  const move = (from: number, to: number, act: Act) => {
    if (why !== undefined || to < 0 || to >= rollouts.length || to === from) return
    change((draft) => ({ rollouts: moved(draft.rollouts, from, to) }))
    say(words.moved(to + 1, rollouts.length))
    focusLater(rollouts[from]!.id, act)
  }
  useAltArrows(list, (id, by, act) => {
    const from = rollouts.findIndex((rollout) => rollout.id === id)
    move(from, from + by, act)
  })
  const add = () => {
    const known = new Set(rollouts.map(({ id }) => id))
    let rollout = freshRollout(++fresh.current)
    while (known.has(rollout.id)) rollout = freshRollout(++fresh.current)
    change((draft) => ({ rollouts: [...draft.rollouts, rollout] }))
    onOpen(rollout.id)
  }
  const remove = (n: number) => {
    change((draft) => ({ rollouts: draft.rollouts.toSpliced(n, 1) }))
    focusLater(rollouts[n + 1]?.id, 'edit')
  }

  return (
    <section className="stack" ref={list} aria-label={words.rollouts}>
      <h2 tabIndex={-1}>{words.rollouts}</h2>
      {rollouts.length === 0 && <p className="muted">{words.noRollouts}</p>}
      <ol className="parts" aria-label={words.rollouts}>
        {rollouts.map((rollout, n) => (
          <RolloutItem
            key={rollout.id}
            namespace={namespace}
            rollout={rollout}
            n={n}
            of={rollouts.length}
            fresh={!saved.has(rollout.id)}
            open={opened === rollout.id && why === undefined}
            flaws={flaws}
            why={why}
            onOpen={(open) => onOpen(open ? rollout.id : undefined)}
            onMove={(to, act) => move(n, to, act)}
            onMoveTo={() => setMoving(n)}
            onRemove={() => remove(n)}
            onChange={(part) =>
              change((draft) => ({
                rollouts: draft.rollouts.map((other) => (other.id === rollout.id ? { ...other, ...part } : other)),
              }))
            }
          />
        ))}
      </ol>
      <div>
        <Button why={why} onClick={add}>
          <PlusIcon />
          {words.add}
        </Button>
      </div>
      {moving !== undefined && (
        <MoveTo
          from={moving}
          of={rollouts.length}
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
