import { allowed } from '../../access/reach.ts'
import { setOf } from '../../access/rights.ts'
import type { Caller } from '../wire/caller.ts'

const EITHER = setOf(['segment.read', 'flag.snapshot'])

/**
 * True if answers include segment names for a caller: only if the caller may read the segments of the namespace anyway
 * (api.md §3.6).
 */
export const showsSegments = ({ reach }: Caller, namespace: string): boolean =>
  reach === undefined || allowed(reach, EITHER, namespace)
