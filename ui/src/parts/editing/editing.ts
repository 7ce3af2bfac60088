import type { FieldViolation } from '../../api/failure.ts'
import type { Actor } from '../../api/flags.ts'
import type { Write } from '../../api/write.ts'
import type { Change } from './change-lines.tsx'

/** Validation errors of a draft by field name, `part.field`. */
export type Flaws = Readonly<Record<string, string>>

/** Resource with its revision. */
export type Revised = { readonly revision: string }

/** Draft rebased on another state, with the changes that no longer apply. */
export type Merged<D> = { readonly draft: D; readonly left: readonly string[] }

/** Draft with another state of the resource, of the past or of another resource. */
export type Restored<D> = Merged<D> & {
  /** Name of the notice above the draft, and its text for a number of changes. */
  readonly region: string
  readonly notice: (changes: number) => string
  /** Reason that the review proposes. */
  readonly reason: string
}

/** State after a conflicting change, with its author and time if known. */
export type Theirs<L> = { readonly theirs: L; readonly by?: Actor | undefined; readonly at?: string | undefined }

/** Describes the editing of a resource `L` as a draft `D`, saved as one request with the answer `A`. */
export type Editing<L extends Revised, D extends object, A> = {
  /** Name of the resource type in a sentence. */
  readonly thing: string
  /** Returns the draft without changes. */
  readonly draftOf: (loaded: L) => D
  /** Returns the draft to review and send: without fields that were opened and left empty. */
  readonly settled: (draft: D) => D
  readonly changesOf: (start: D, draft: D) => readonly Change[]
  /** Validation errors of the draft. Parts that equal those of `start` or of `restored` are not checked. */
  readonly flawsOf: (start: D, draft: D, restored?: D) => Flaws
  /** Rebases the own changes on the present state. */
  readonly merge: (start: D, mine: D, theirs: D) => Merged<D>
  /** Returns the request, and for each operation the part that it concerns. */
  readonly sent: (
    base: L,
    start: D,
    draft: D,
    reason: string,
  ) => { readonly write: Write; readonly about: readonly string[] }
  readonly answered: (answer: A, revision: string) => L
  /** Maps field violations to fields of the page; undefined if one of them has no field. */
  readonly refusedFlaws: (found: readonly FieldViolation[], about: readonly string[]) => Flaws | undefined
  readonly readAgain: (base: L) => Promise<Theirs<L>>
}

/** Whether two drafts or parts of drafts are deeply equal. */
export const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const others = new Map(Object.entries(b))
  const members = Object.entries(a)
  return members.length === others.size && members.every(([name, value]) => same(value, others.get(name)))
}
