import { allowed } from '../../access/reach.ts'
import { setOf } from '../../access/rights.ts'
import type { Caller } from '../wire/caller.ts'

const EITHER = setOf(['segment.read', 'flag.snapshot'])

/** Whether answers name the segments of a namespace to a caller, who may read them anyway (api.md §3.6). */
export const showsSegments = ({ reach }: Caller, namespace: string): boolean =>
  reach === undefined || allowed(reach, EITHER, namespace)
