import { asOfReads } from '../../as-of/reads.ts'
import type { Core } from '../core.ts'
import { type AsOfReader, asOfWorker } from './worker.ts'

/** Creates the reader of past states: for an embedded store in its own thread, for servers in this thread. */
export const asOfReaderOf = ({ stores, log, faults }: Pick<Core, 'stores' | 'log' | 'faults'>): AsOfReader => {
  const { views, files, pepper } = stores
  if (files) return asOfWorker(files, pepper.key, faults)
  return { ...asOfReads({ log, views, key: pepper.key, atOnce: 8 }), close: async () => undefined }
}
