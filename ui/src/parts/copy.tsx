import { type ReactNode, type RefObject, useState } from 'react'
import { common } from '../words/common.ts'
import { Button } from './button.tsx'

type Copied = { readonly n: number; readonly text: string; readonly thing: string; readonly done: boolean }

const select = (input: HTMLInputElement | null): void => {
  input?.focus()
  input?.select()
}

/**
 * Copies texts to the clipboard and renders the result of the last copy. If the clipboard is not available, the text is
 * selected: in `field`, else in an input next to the result.
 */
export const useCopy = (field?: RefObject<HTMLInputElement | null>) => {
  const [last, setLast] = useState<Copied | undefined>()
  const copy = async (text: string, thing: string): Promise<void> => {
    let done = true
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      done = false
      if (field) select(field.current)
    }
    setLast((before) => ({ n: (before?.n ?? 0) + 1, text: field ? '' : text, thing, done }))
  }
  const told = (
    <span className="copied">
      <span role="status" className="small">
        {last && (last.done ? common.copied : common.notCopied(last.thing))}
      </span>
      {last?.done === false && !field && (
        <input key={last.n} ref={select} className="input mono" readOnly aria-label={last.thing} value={last.text} />
      )}
    </span>
  )
  return { copy: (text: string, thing: string) => void copy(text, thing), told }
}

/** Button that copies the text of a field. */
export const CopyButton = ({
  field,
  thing,
  children,
}: {
  readonly field: RefObject<HTMLInputElement | null>
  readonly thing: string
  readonly children: ReactNode
}) => {
  const { copy, told } = useCopy(field)
  return (
    <>
      <Button onClick={() => field.current && copy(field.current.value, thing)}>{children}</Button>
      {told}
    </>
  )
}
