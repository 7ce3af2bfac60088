import { refuse } from '../errors.ts'

/** So long what is held of the log may take to have all that an answer needs. */
export const WAIT_MS = 2_000

export const viewBehind = (position: bigint): never =>
  refuse('view_behind', `view is behind position ${position}`, { headers: { 'retry-after': '1' } })
