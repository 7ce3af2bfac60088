import { useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'
import { pageOf } from '../links.ts'
import { useSession } from '../session.tsx'
import { common } from '../words/common.ts'

/** Last page whose heading received the focus, or the first page. Empty while the focus is on a removed heading. */
let opened: string | undefined

/**
 * Head of a page: its heading, which receives the focus on navigation, and its actions. `title` lists the parts of the
 * document title, most specific first.
 */
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
    // The first page keeps the focus at the start of the document, before the skip link.
    opened ??= page
    if (page === undefined || opened === page) return undefined
    // A listbox or a dialog that just closed restores the focus first.
    const frame = requestAnimationFrame(() => {
      opened = page
      if (!document.activeElement?.closest('[role=dialog], [role=alertdialog]'))
        place.current?.focus({ preventScroll: true })
    })
    return () => cancelAnimationFrame(frame)
  }, [page])
  useLayoutEffect(
    () => () => {
      if (document.activeElement === place.current) opened = ''
    },
    [],
  )
  return (
    <header className="page-head">
      <h1 ref={place} tabIndex={-1}>
        {heading}
      </h1>
      {children}
    </header>
  )
}
