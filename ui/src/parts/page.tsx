import { useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { pageOf } from '../links.ts'
import { useSession } from '../session.tsx'
import { common } from '../words/common.ts'

/** The page that was opened last in this document. */
let opened: string | undefined

/** The head of a page: its heading, which takes the focus when another page is opened, and its actions. `title` is what the window is called, from the thing outward. */
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
  const page = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation && pageOf(resolvedLocation) })
  const parts = [...title, common.product].join(' · ')
  const label = ui.topbarLabel === '' ? '' : `${ui.topbarLabel} · `
  useEffect(() => {
    document.title = label + parts
  }, [label, parts])
  useEffect(() => {
    // The first page leaves the focus at the beginning, where the way past the bar is.
    const another = page !== undefined && opened !== undefined && opened !== page
    opened = page ?? opened
    if (!another || document.activeElement?.closest('[role=dialog], [role=alertdialog]')) return undefined
    // A list that has just closed gives the focus to its field first.
    const frame = requestAnimationFrame(() => place.current?.focus({ preventScroll: true }))
    return () => cancelAnimationFrame(frame)
  }, [page])
  return (
    <header className="page-head">
      <h1 ref={place} tabIndex={-1}>
        {heading}
      </h1>
      {children}
    </header>
  )
}
