import { useEffect, useState } from 'react'

const PAUSE_MS = 200

/** Debounced value; empty until the first pause. */
export const useSettled = (value: string): string => {
  const [settled, setSettled] = useState('')
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [value])
  return settled
}
