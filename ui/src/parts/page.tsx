import { type ReactNode, useEffect, useRef } from 'react'
import { useSession } from '../session.tsx'
import { common } from '../words/common.ts'

/** The head of a page: its heading, which takes the focus when the page is opened, and its actions. `title` is what the window is called, from the thing outward. */
export const PageHead = ({
  heading,
  title,
  children,
}: {
  readonly heading: ReactNode
  readonly title: readonly string[]
  readonly children?: ReactNode
}) => {
  const place = useRef<HTMLHeadingElement>(null)
  const { ui } = useSession()
  const parts = [...title, common.product].join(' · ')
  const label = ui.topbarLabel === '' ? '' : `${ui.topbarLabel} · `
  useEffect(() => {
    document.title = label + parts
  }, [label, parts])
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('main, nav'))
      place.current?.focus({ preventScroll: true })
  }, [])
  return (
    <header className="page-head">
      <h1 ref={place} tabIndex={-1}>
        {heading}
      </h1>
      {children}
    </header>
  )
}
