import { useLayoutEffect, useRef } from 'react'
import { useSession } from '../session.tsx'

const linear = (part: number): number => {
  const share = part / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

/** Returns the text colour with the higher WCAG contrast on a colour (`rgb(…)` as a browser computes it). */
const inkOn = (colour: string): 'black' | 'white' => {
  const [red = 255, green = 255, blue = 255] = (colour.match(/[\d.]+/g) ?? []).map(Number)
  const light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
  return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? 'black' : 'white'
}

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
