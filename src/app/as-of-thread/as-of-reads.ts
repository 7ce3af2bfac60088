import { pastReads } from '../../as-of/reads.ts'
import type { Core } from '../core.ts'
import { type Past, pastWorker } from './worker.ts'

/** Readings of the past: beside an embedded store in a thread of their own, of servers in this one. */
export const pastOf = ({ stores, log, faults }: Pick<Core, 'stores' | 'log' | 'faults'>): Past => {
  const { views, files, pepper } = stores
  if (files) return pastWorker(files, pepper.key, faults)
  return { ...pastReads({ log, views, key: pepper.key, atOnce: 8 }), close: async () => undefined }
}
