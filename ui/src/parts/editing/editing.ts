import type { FieldViolation } from '../../api/failure.ts'
import type { Actor } from '../../api/flags.ts'
import type { Write } from '../../api/write.ts'
import type { Change } from './change-lines.tsx'

/** What is wrong with a draft: words by the field, which is called `part.field`. */
export type Flaws = Readonly<Record<string, string>>

/** A thing as it was read, with its revision. */
export type Revised = { readonly revision: string }

/** A draft put on top of another state, and what of it does not fit there any more. */
export type Merged<D> = { readonly draft: D; readonly left: readonly string[] }

/** The present state of a thing that somebody else changed, and by whom and when, as far as that is known. */
export type Theirs<L> = { readonly theirs: L; readonly by?: Actor | undefined; readonly at?: string | undefined }

/** How a thing `L` is edited as a draft `D`, which is saved as one change that the service answers with `A`. */
export type Editing<L extends Revised, D extends object, A> = {
  /** What the thing is called in a sentence. */
  readonly thing: string
  /** The draft that changes nothing. */
  readonly draftOf: (loaded: L) => D
  /** A draft as it is reviewed and sent: without what was opened and left empty. */
  readonly settled: (draft: D) => D
  readonly changesOf: (start: D, draft: D) => readonly Change[]
  readonly flawsOf: (start: D, draft: D) => Flaws
  /** My changes on top of the present state. */
  readonly merge: (start: D, mine: D, theirs: D) => Merged<D>
  /** What is sent, and beside each change of it the part that it is about. */
  readonly sent: (
    base: L,
    start: D,
    draft: D,
    reason: string,
  ) => { readonly write: Write; readonly about: readonly string[] }
  readonly answered: (answer: A, revision: string) => L
  /** What the service finds wrong, by the fields of the page; undefined where one of them is none. */
  readonly refusedFlaws: (found: readonly FieldViolation[], about: readonly string[]) => Flaws | undefined
  readonly readAgain: (base: L) => Promise<Theirs<L>>
}

/** Whether two drafts, or parts of them, are the same as they were typed. */
export const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const others = new Map(Object.entries(b))
  const members = Object.entries(a)
  return members.length === others.size && members.every(([name, value]) => same(value, others.get(name)))
}
