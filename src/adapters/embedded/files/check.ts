import type { EventLog } from '../../../events/log.ts'
import { closed } from '../keys.ts'
import { embeddedLog } from '../log.ts'
import { type Database, openDatabase, withDatabase } from '../sqlite.ts'
import { checkLog, type Finding, insistOnSound, refuseDamaged } from './look.ts'

/**
 * Checks a file of events while other processes may write to it. Passes the log to the function `take` only if SQLite
 * finds the file intact.
 */
export const withCheckedLog = async (
  file: string,
  take: (findings: readonly Finding[], log: Pick<EventLog, 'readAll'> | undefined) => Promise<void>,
): Promise<void> => {
  const broken = (error: unknown): readonly Finding[] => [
    { check: 'sqlite', where: 'the file', found: error instanceof Error ? error.message : 'it cannot be read' },
  ]
  const database = await openDatabase(file, 'read').catch(() => undefined)
  try {
    let findings: readonly Finding[]
    try {
      findings = database ? checkLog(database) : broken(undefined)
    } catch (error) {
      findings = broken(error)
    }
    const isWhole = findings.every(({ check }) => !['sqlite', 'schema', 'texts'].includes(check))
    await take(
      findings,
      database && isWhole ? embeddedLog(closed, database, { file, onDamage: () => undefined }) : undefined,
    )
  } finally {
    database?.close()
  }
}

/**
 * Runs work on a file of events, read-only, while other processes may write to it. Fails with exit code 3 if the file is
 * damaged.
 */
export const withEmbeddedLog = async <T>(
  file: string,
  work: (log: Pick<EventLog, 'readAll' | 'read' | 'head'>) => Promise<T>,
): Promise<T> => {
  let damaged: string | undefined
  const read = (database: Database) => {
    insistOnSound(database, file)
    return work(embeddedLog(closed, database, { file, onDamage: ({ message }) => (damaged = message) }))
  }
  try {
    return await withDatabase(file, 'read', read)
  } catch (error) {
    throw damaged === undefined ? error : refuseDamaged(damaged)
  }
}
