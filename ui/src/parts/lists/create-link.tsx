import { PlusIcon } from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import type { toNewFlag, toNewSegment } from '../../links.ts'
import { buttonClass, stopOf } from '../button.tsx'
import { tip } from '../feedback/tip.ts'

/** Link to the form for a new flag or segment; `why` is the reason if it is disabled. */
export const CreateLink = ({
  to,
  why,
  children,
}: {
  readonly to: ReturnType<typeof toNewFlag | typeof toNewSegment>
  readonly why: string | undefined
  readonly children: string
}) => (
  <Link
    {...to}
    className={buttonClass('primary')}
    aria-keyshortcuts="n"
    disabled={why !== undefined}
    tabIndex={0}
    {...stopOf(why)}
    {...(why !== undefined && tip(why))}
  >
    <PlusIcon />
    {children}
  </Link>
)
