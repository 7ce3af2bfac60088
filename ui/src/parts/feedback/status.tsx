import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react'

const SHOWN_MS = 6000
const Say = createContext<(words: string) => void>(() => undefined)

/** Says what was done, at the bottom of the page and to who listens; never a failure. */
export const useSay = (): ((words: string) => void) => useContext(Say)

/** The one place of the page where results are told. */
export const StatusRegion = ({ children }: { readonly children: ReactNode }) => {
  const [words, setWords] = useState('')
  const timer = useRef<number | undefined>(undefined)
  const later = useCallback(() => {
    window.clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setWords(''), SHOWN_MS)
  }, [])
  const say = useCallback(
    (next: string) => {
      setWords(next)
      later()
    },
    [later],
  )
  useEffect(() => () => window.clearTimeout(timer.current), [])
  return (
    <Say value={say}>
      {children}
      <div
        className="toast"
        role="status"
        onPointerEnter={() => window.clearTimeout(timer.current)}
        onPointerLeave={later}
      >
        {words}
      </div>
    </Say>
  )
}
