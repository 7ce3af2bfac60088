import type { ReactNode } from 'react'

/** Texts of a field: its hint, error and notice. */
export type FieldTexts = {
  readonly hint?: ReactNode
  /** Validation error. */
  readonly wrong?: string | undefined
  /** Notice that is not an error. */
  readonly notice?: string | undefined
}

/** Hint, notice and validation error of the field with this id. */
export const FieldWords = ({ id, hint, wrong, notice }: FieldTexts & { readonly id: string }) => (
  <>
    {hint !== undefined && (
      <span className="hint" id={`${id}-hint`}>
        {hint}
      </span>
    )}
    {notice !== undefined && (
      <span className="notice" id={`${id}-notice`}>
        {notice}
      </span>
    )}
    {wrong !== undefined && (
      <span className="wrong" id={`${id}-wrong`}>
        {wrong}
      </span>
    )}
  </>
)

/** Ids of the words of a field, for `aria-describedby`. */
export const described = (id: string, { hint, wrong, notice }: FieldTexts): string | undefined =>
  [hint !== undefined && `${id}-hint`, notice !== undefined && `${id}-notice`, wrong !== undefined && `${id}-wrong`]
    .filter(Boolean)
    .join(' ') || undefined
