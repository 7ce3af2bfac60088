import { existsSync } from 'node:fs'
import { type KeptCheckpoint, type SealedRecord, sealedRecordOf } from '../../../ledger/ledger-store.ts'
import { insistOnSchema } from '../files/schema-differences.ts'
import { ledgerSchema } from '../schema.ts'
import { openDatabase, rowsOf } from '../sqlite.ts'
import { type KeptRow, keptOf } from './ledger-file.ts'

/**
 * The sealed record in the file of a ledger, and its newest kept checkpoints, read-only while other processes may write
 * to the file. Without a file there are none.
 */
export const recordsIn = async (
  file: string,
  limit: number,
): Promise<{ readonly record: SealedRecord | undefined; readonly kept: readonly KeptCheckpoint[] }> => {
  if (!existsSync(file)) return { record: undefined, kept: [] }
  const database = await openDatabase(file, 'read')
  try {
    insistOnSchema(database, ledgerSchema)
    const sealed = rowsOf(database, 'select record from sealed').get() as [string] | undefined
    const newest = rowsOf(database, 'select size, root, text, at, keep from checkpoints order by size desc limit ?')
    const kept = (newest.all(limit) as KeptRow[]).map(keptOf)
    return { record: sealed && sealedRecordOf(sealed[0], file), kept }
  } finally {
    database.close()
  }
}
