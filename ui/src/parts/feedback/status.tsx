import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react'

const SHOWN_MS = 6000
const Say = createContext<(words: string) => void>(() => undefined)

/** Returns a function that shows a result at the bottom of the page and announces it; never for failures. */
export const useSay = (): ((words: string) => void) => useContext(Say)

/** Status region of the page. */
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
