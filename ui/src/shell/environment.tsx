import { useLayoutEffect, useRef } from 'react'
import { useSession } from '../session.tsx'
import { inkOn } from './ink.ts'

/** Name of this deployment on its colour. */
export const Environment = () => {
  const { ui } = useSession()
  const place = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    const style = place.current?.style
    if (!style || ui.topbarColor === '') return
    style.background = ui.topbarColor
    style.color = inkOn(getComputedStyle(place.current!).backgroundColor)
  }, [ui.topbarColor])
  return ui.topbarLabel === '' ? null : (
    <span className="environment" ref={place}>
      {ui.topbarLabel}
    </span>
  )
}

/** Line in the colour of this deployment, at the top of the page. */
export const ColourLine = () => {
  const { ui } = useSession()
  return ui.topbarColor === '' ? null : <div className="colour" style={{ background: ui.topbarColor }} />
}
