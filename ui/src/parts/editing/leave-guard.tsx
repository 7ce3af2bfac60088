import { useBlocker } from '@tanstack/react-router'
import { pageOf } from '../../links.ts'
import { common } from '../../words/common.ts'
import { pending } from '../../words/pending.ts'
import { Button } from '../button.tsx'
import { Actions, Ask } from '../feedback/dialog.tsx'

type Address = { readonly pathname: string; readonly search: object }
type Moments = { readonly at?: unknown; readonly restore?: unknown; readonly copy?: unknown }

/** Whether two addresses show one draft: that of the same page, moment and restored or copied state. */
const isSameDraft = (one: Address, other: Address): boolean => {
  const [was, is]: readonly [Moments, Moments] = [one.search, other.search]
  return pageOf(one) === pageOf(other) && was.at === is.at && was.restore === is.restore && was.copy === is.copy
}

/** Asks for confirmation before the user leaves unsaved changes. Another tab of the same draft is allowed. */
export const LeaveGuard = ({ changes }: { readonly changes: number }) => {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => changes > 0 && !isSameDraft(current, next),
    enableBeforeUnload: () => changes > 0,
    withResolver: true,
  })
  if (blocker.status !== 'blocked') return null
  return (
    <Ask title={pending.leave.title} open onClose={blocker.reset}>
      <p>{pending.leave.why(changes)}</p>
      <Actions>
        <Button onClick={blocker.reset}>{common.stay}</Button>
        <Button look="danger" onClick={blocker.proceed}>
          {common.leave}
        </Button>
      </Actions>
    </Ask>
  )
}
