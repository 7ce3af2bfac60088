import { refuse } from '../errors.ts'

/** How long (ms) an answer waits for the views or memory to reach its position. */
export const WAIT_MS = 2_000

export const viewBehind = (position: bigint): never =>
  refuse('view_behind', `view is behind position ${position}`, { headers: { 'retry-after': '1' } })
