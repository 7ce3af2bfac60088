import { type ReactNode, type RefObject, useState } from 'react'
import { common } from '../words/common.ts'
import { Button } from './button.tsx'

/** Copies the text of a field; where the clipboard does not take it, selects it instead. */
export const CopyButton = ({
  field,
  thing,
  children,
}: {
  readonly field: RefObject<HTMLInputElement | null>
  readonly thing: string
  readonly children: ReactNode
}) => {
  const [said, setSaid] = useState('')
  const copy = async () => {
    const input = field.current
    if (!input) return
    try {
      await navigator.clipboard.writeText(input.value)
      setSaid(common.copied)
    } catch {
      input.focus()
      input.select()
      setSaid(common.notCopied(thing))
    }
  }
  return (
    <>
      <Button onClick={() => void copy()}>{children}</Button>
      <span role="status" className="small">
        {said}
      </span>
    </>
  )
}

type Copied = { readonly n: number; readonly text: string; readonly thing: string; readonly done: boolean }

const select = (input: HTMLInputElement | null): void => {
  input?.focus()
  input?.select()
}

/** Copies texts that stand nowhere on the page. `told` says what became of the last one; where the clipboard did not take it, it is there, selected. */
export const useCopy = () => {
  const [last, setLast] = useState<Copied | undefined>()
  const copy = async (text: string, thing: string): Promise<void> => {
    let done = true
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      done = false
    }
    setLast((before) => ({ n: (before?.n ?? 0) + 1, text, thing, done }))
  }
  const told = (
    <div className="copied">
      <span role="status" className="small">
        {last && (last.done ? common.copied : common.notCopied(last.thing))}
      </span>
      {last?.done === false && (
        <input key={last.n} ref={select} className="input mono" readOnly aria-label={last.thing} value={last.text} />
      )}
    </div>
  )
  return { copy: (text: string, thing: string) => void copy(text, thing), told }
}
