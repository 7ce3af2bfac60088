import { refuse } from '../base/errors.ts'

/** Timeout in ms for the views or memory to reach the position of an answer. */
export const WAIT_MS = 2_000

export const viewBehind = (position: bigint): never =>
  refuse('view_behind', `view is behind position ${position}`, { headers: { 'retry-after': '1' } })
