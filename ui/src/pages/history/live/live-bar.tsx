import { useEffect, useRef, useState } from 'react'
import type { Live } from '../../../api/live/live.ts'
import { Button } from '../../../parts/button.tsx'
import { live as words } from '../../../words/history.ts'

/** Time (ms) between two announcements of new events (ui.md §10.2.5). */
const APART_MS = 10_000

/** Text that changes at most once in 10 s. */
const useSeldom = (text: string): string => {
  const [told, setTold] = useState('')
  const newest = useRef('')
  const last = useRef('')
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => {
    newest.current = text
    const tell = () => {
      timer.current = undefined
      if (last.current === newest.current) return
      last.current = newest.current
      setTold(last.current)
      timer.current = window.setTimeout(tell, APART_MS)
    }
    timer.current ??= window.setTimeout(tell, 0)
  }, [text])
  useEffect(() => () => window.clearTimeout(timer.current), [])
  return told
}

/** Button that follows new events, or pauses. */
export const LiveButton = ({
  isOn,
  why,
  onChange,
}: {
  readonly isOn: boolean
  /** Reason why the page cannot be live. */
  readonly why: string | undefined
  readonly onChange: (isOn: boolean) => void
}) => (
  <Button aria-pressed={isOn} why={why} onClick={() => onChange(!isOn)}>
    <span className={isOn ? 'live-dot on' : 'live-dot'} aria-hidden="true" />
    {words.live}
  </Button>
)

/** Sentence about the connection, and the button that shows the new events. */
export const LiveBar = ({ live, onShow }: { readonly live: Live | undefined; readonly onShow: () => void }) => {
  const count = live?.count ?? 0
  const told = useSeldom(live && count > 0 ? words.told(count, live.isExact) : '')
  const sentence = live === undefined || live.state === 'on' || live.state === 'starting' ? '' : words[live.state]
  return (
    <div className="live-bar">
      <span role="status" className="small">
        {sentence}
      </span>
      <span role="status" className="visually-hidden">
        {told}
      </span>
      {live?.state === 'other-log' && <Button onClick={onShow}>{words.again}</Button>}
      {live && count > 0 && <Button onClick={onShow}>{words.isNew(count, live.isExact)}</Button>}
    </div>
  )
}
