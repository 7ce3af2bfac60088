import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../events/log.ts'
import { openChannel } from './channel.ts'
import { lockDirectory } from './lock.ts'
import { embeddedLog } from './log.ts'
import { openDatabase } from './sqlite.ts'

export type Embedded = { readonly log: Log; readonly close: () => Promise<void> }

export const openEmbedded = async (directory: string): Promise<Embedded> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const unlock = await lockDirectory(directory)
  const path = (name: string) => join(directory, name)
  const channel = await openChannel({ events: path('events.sqlite'), views: path('views.sqlite'), subjects: path('subjects.sqlite') })
  const reader = await openDatabase(path('events.sqlite'), 'read')
  const log = embeddedLog(channel, reader)
  return {
    log,
    close: async () => {
      await log.close()
      await channel.close()
      reader.close()
      unlock()
    },
  }
}
