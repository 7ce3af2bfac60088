import { useEffect, useState } from 'react'

const PAUSE_MS = 200

/** What was typed, once somebody pauses; nothing until then. */
export const useSettled = (value: string): string => {
  const [settled, setSettled] = useState('')
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [value])
  return settled
}
