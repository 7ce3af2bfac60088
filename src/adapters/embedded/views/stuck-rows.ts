import type { Clock, Timer } from '../../../base/clock.ts'
import type { Failure, Request } from '../writer/protocol.ts'

const RETRY_MS = 250

/**
 * Retries view rows for which the disk had no space, in order. Other view writes are refused until then, so no
 * checkpoint gets ahead of the rows. Returns the function that writes a group; `commit` replies to the group or returns
 * the failure.
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
