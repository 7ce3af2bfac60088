import { openFilesOf } from '../files/taken-away.ts'
import type { LogFile } from '../log.ts'
import { isMisshapen, ofFile, openDatabase } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import { embeddedViews, type ViewReaders } from './views.ts'

type OpenViews = Pick<ViewReaders, 'clock' | 'events'> & { readonly channel: Channel; readonly ofLog: LogFile }

/** Returns a function that opens the views of a file and adds the file to those that are watched. */
export const viewsOf =
  (file: string, { channel, clock, events, ofLog }: OpenViews, watch: (...files: readonly string[]) => void) =>
  (onDamage: (error: Error) => void) =>
    ofFile(
      file,
      async () => {
        const reader = await openDatabase(file, 'read')
        const close = () => reader.close()
        const another = () => openDatabase(file, 'read')
        try {
          const watched = { views: { file, onDamage }, events: ofLog }
          const views = embeddedViews(channel, { clock, views: reader, events, another, watched })
          watch(...openFilesOf(file))
          return { views, close }
        } catch (error) {
          close()
          throw error
        }
      },
      isMisshapen,
    )
