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
