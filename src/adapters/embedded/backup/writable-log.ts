import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventLog } from '../../../events/log.ts'
import { embeddedLog } from '../log.ts'
import { openDatabase } from '../sqlite.ts'
import { openChannel } from '../writer/channel.ts'

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
    await rm(scratch, { recursive: true, force: true })
  }
}
