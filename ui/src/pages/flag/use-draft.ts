import { useMemo, useState } from 'react'
import type { Loaded } from '../../api/flags.ts'
import { changesOf } from './changes.ts'
import { type Draft, draftOf, same } from './draft.ts'

type Edited = { readonly base: Loaded; readonly draft: Draft }
/** A part of a draft as it is to be, from the draft as it is. */
export type ChangeDraft = (part: (draft: Draft) => Partial<Draft>) => void

/** What a person edits of a flag, on top of the state that it was begun on; `loaded` is the present state, which counts while nothing is edited. */
export const useDraft = (loaded: Loaded) => {
  const [edited, setEdited] = useState<Edited | undefined>()
  const base = edited?.base ?? loaded
  const start = useMemo(() => draftOf(base), [base])
  const draft = edited?.draft ?? start
  const changes = useMemo(() => changesOf(start, draft), [start, draft])
  const change: ChangeDraft = (part) =>
    setEdited((before) => {
      const from = before ?? { base: loaded, draft: draftOf(loaded) }
      const next = { ...from.draft, ...part(from.draft) }
      return same(next, draftOf(from.base)) ? undefined : { base: from.base, draft: next }
    })
  return {
    base,
    start,
    draft,
    changes,
    change,
    discard: () => setEdited(undefined),
    /** Goes on with a draft on top of another state. */
    rebase: (onto: Loaded, next: Draft) =>
      setEdited(same(next, draftOf(onto)) ? undefined : { base: onto, draft: next }),
  }
}
export type DraftState = ReturnType<typeof useDraft>
