import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../base/errors.ts'
import type { EventLog } from '../../../events/log.ts'
import { problemsOf, schemaOf, sqliteProblems } from '../files/look.ts'
import { embeddedLog } from '../log.ts'
import { valueProblems } from '../schema.ts'
import { withDatabase } from '../sqlite.ts'
import { openChannel } from '../writer/channel.ts'

/**
 * Problems that SQLite's own check finds in a database, of which it reads the whole file, and objects and values
 * that are not of this version; empty if it is intact.
 */
export const problemsOfCopy = async (file: string): Promise<readonly string[]> => {
  try {
    return await withDatabase(file, 'read', (database) => {
      const problems = [...sqliteProblems(database), ...problemsOf(database, file)]
      return problems.length > 0 ? problems : valueProblems(database, schemaOf(file))
    })
  } catch (error) {
    return [messageOf(error)]
  }
}

/**
 * Writes the write-ahead log of a database into the database. The packaged driver keeps a closed connection until its
 * statements are collected, so that the log stays when the last connection is closed. After a failure it also stays,
 * with its content.
 */
const foldLog = (file: string): Promise<void> =>
  withDatabase(file, 'durable', (database) => {
    try {
      database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // The disk is full. Whoever moves the file fails on the content of the log.
    }
  })

/**
 * Runs work on a file of events that no other process uses. Needs no keys: the other files of the writer are created
 * next to it, and removed at the end.
 */
export const withWritableLog = async <T>(file: string, work: (log: EventLog) => Promise<T>): Promise<T> => {
  const scratch = `${file}.scratch`
  const ignore = () => undefined
  const channel = await openChannel(
    { events: file, views: join(scratch, 'views.sqlite'), subjects: join(scratch, 'subjects.sqlite') },
    {
      onLost: ignore,
      onDamagedViews: ignore,
      noRoom: () => Object.assign(new Error(`no space is left for ${file}`), { code: 'ENOSPC' }),
    },
  )
  try {
    return await withDatabase(file, 'read', (reader) => work(embeddedLog(channel, reader, { file, onDamage: ignore })))
  } finally {
    await channel.close()
    await foldLog(file)
    await rm(scratch, { recursive: true, force: true })
  }
}
