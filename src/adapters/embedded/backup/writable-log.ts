import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventLog } from '../../../events/log.ts'
import { embeddedLog } from '../log.ts'
import { openDatabase } from '../sqlite.ts'
import { openChannel } from '../writer/channel.ts'

/**
 * Writes the write-ahead log of a database into the database. The packaged driver keeps a closed connection until its
 * statements are collected, so that the log stays when the last connection is closed. After a failure it also stays,
 * with its content.
 */
const foldLog = async (file: string): Promise<void> => {
  const database = await openDatabase(file, 'durable')
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // The disk is full. Whoever moves the file fails on the content of the log.
  } finally {
    database.close()
  }
}

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
    const reader = await openDatabase(file, 'read')
    try {
      return await work(embeddedLog(channel, reader, { file, onDamage: ignore }))
    } finally {
      reader.close()
    }
  } finally {
    await channel.close()
    await foldLog(file)
    await rm(scratch, { recursive: true, force: true })
  }
}
