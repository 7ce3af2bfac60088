import { useMemo, useState } from 'react'
import { type Editing, type Revised, same } from './editing.ts'

/** Updates fields of a draft; receives a function of the present draft. */
export type ChangeDraft<D> = (part: (draft: D) => Partial<D>) => void

/**
 * Draft of a resource, based on the state at which the edit began. `loaded` is the present state, which is the base
 * while there are no changes. The edit begins with the draft `begun`, if there is one.
 */
export const useDraft = <L extends Revised, D extends object, A>(
  { draftOf, settled, changesOf }: Editing<L, D, A>,
  loaded: L,
  begun?: D,
) => {
  const [edited, setEdited] = useState<{ readonly base: L; readonly draft: D } | undefined>(() =>
    begun === undefined || same(settled(begun), draftOf(loaded)) ? undefined : { base: loaded, draft: begun },
  )
  const base = edited?.base ?? loaded
  const start = useMemo(() => draftOf(base), [draftOf, base])
  const draft = edited?.draft ?? start
  const final = useMemo(() => settled(draft), [settled, draft])
  const changes = useMemo(() => changesOf(start, final), [changesOf, start, final])
  const differs = (next: D, from: L) => !same(settled(next), draftOf(from))
  const change: ChangeDraft<D> = (part) =>
    setEdited((before) => {
      const from = before ?? { base: loaded, draft: draftOf(loaded) }
      const next = { ...from.draft, ...part(from.draft) }
      return differs(next, from.base) ? { base: from.base, draft: next } : undefined
    })
  return {
    base,
    start,
    /** Draft as typed, including fields that were opened and left empty. */
    draft,
    /** Draft as reviewed and sent. */
    final,
    changes,
    change,
    discard: () => setEdited(undefined),
    /** Continues with a draft on another base. */
    rebase: (onto: L, next: D) => setEdited(differs(next, onto) ? { base: onto, draft: next } : undefined),
  }
}

export type DraftState<L extends Revised, D extends object> = ReturnType<typeof useDraft<L, D, unknown>>
