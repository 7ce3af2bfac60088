import { useBlocker } from '@tanstack/react-router'
import { pageOf } from '../../links.ts'
import { common } from '../../words/common.ts'
import { pending } from '../../words/pending.ts'
import { Button } from '../button.tsx'
import { Actions, Ask } from '../feedback/dialog.tsx'

const atOf = (search: object): unknown => ('at' in search ? search.at : undefined)

/** Asks for confirmation before the user leaves unsaved changes. Another tab of the same page and moment is allowed. */
export const LeaveGuard = ({ changes }: { readonly changes: number }) => {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      changes > 0 && (pageOf(current) !== pageOf(next) || atOf(current.search) !== atOf(next.search)),
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
