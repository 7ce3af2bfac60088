import type { Clock, Timer } from '../../../clock.ts'
import type { Failure, Request } from '../writer/protocol.ts'

const RETRY_MS = 250

/**
 * View rows that found no room on the disk, kept in order and retried. Other view writes are refused meanwhile, so none
 * waits and no checkpoint gets ahead of the rows. Gives what writes a group: `commit` answers it, unless it says what failed.
 */
export const stuckRows = (
  clock: Clock,
  commit: (group: readonly Request[]) => Failure | undefined,
  refuse: (others: readonly Request[], failure: Failure) => void,
): ((more: readonly Request[]) => void) => {
  let stuck: readonly Request[] = []
  let retrying: Timer | undefined

  const write = (more: readonly Request[]): void => {
    const group = [...stuck, ...more]
    if (group.length === 0) return
    const failure = commit(group)
    stuck = failure ? group.filter(([, op]) => op === 'put') : []
    if (!failure) return
    refuse(
      group.filter(([, op]) => op !== 'put'),
      failure,
    )
    if (stuck.length > 0) retrying ??= clock.after(RETRY_MS, retry).unref()
  }
  const retry = () => {
    retrying = undefined
    write([])
  }
  return write
}
