import { existsSync } from 'node:fs'
import type { SealedRecord } from '../../../ledger/ledger-store.ts'
import { insistOnSchema } from '../files/schema-differences.ts'
import { ledgerSchema } from '../schema.ts'
import { type Database, openDatabase, rowsOf } from '../sqlite.ts'

const openLedger = async (file: string): Promise<Database> => {
  const database = await openDatabase(file, 'read')
  try {
    insistOnSchema(database, ledgerSchema)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** The sealed record in the file of a ledger, read-only; undefined if there is none. */
export const sealedRecordIn = async (file: string): Promise<SealedRecord | undefined> => {
  const database = await openLedger(file)
  try {
    const sealed = rowsOf(database, 'select record from sealed').get() as [string] | undefined
    return sealed && (JSON.parse(sealed[0]) as SealedRecord)
  } finally {
    database.close()
  }
}

/**
 * Text of the newest signed checkpoint in the file of a ledger, read-only, while other processes may write to it;
 * undefined if there is none.
 */
export const newestCheckpointIn = async (file: string): Promise<string | undefined> => {
  if (!existsSync(file)) return undefined
  const database = await openLedger(file)
  try {
    const sealed = rowsOf(database, 'select record from sealed').get() as [string] | undefined
    const { text } = sealed ? (JSON.parse(sealed[0]) as SealedRecord) : {}
    // A pair that is not signed yet stands after the newest kept checkpoint, which has the signatures of witnesses.
    const [kept] = (rowsOf(database, 'select text from checkpoints order by size desc limit 1').get() ?? []) as string[]
    return text && !kept?.startsWith(text) ? text : kept
  } finally {
    database.close()
  }
}
