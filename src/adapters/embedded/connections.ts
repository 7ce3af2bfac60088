import type { Clock } from '../../base/clock.ts'
import { isTakenAway, type OnLargeLog, watchFiles } from './files/taken-away.ts'
import type { Channel } from './writer/channel.ts'

type Closeable = { readonly close: () => void }

/** Open connections of a data directory. The writer thread writes no more once one of their files is taken away. */
export const connections = (clock: Clock, onLost: (error: Error) => void, onLarge?: OnLargeLog) => {
  const readers: Closeable[] = []
  let channel: Channel | undefined
  let isTaken = false
  const watch = watchFiles(clock, (error) => channel?.loseAll(error), onLarge)
  const closeReaders = () => {
    for (const reader of readers) reader.close()
  }
  return {
    /** Listener of the writer thread for a loss. */
    onLost: (error: Error): void => {
      isTaken ||= isTakenAway(error)
      onLost(error)
    },
    /** Returns true once a file was moved, removed or replaced. */
    isTaken: (): boolean => isTaken,
    addWriter: (writer: Channel): Channel => (channel = writer),
    addReader: <R extends Closeable>(reader: R): R => {
      readers.push(reader)
      return reader
    },
    watch: watch.add,
    forget: watch.forget,
    logs: watch.logs,
    /**
     * Closes the readers first: only the last connection can checkpoint the write-ahead log completely. If a file was
     * taken away, closes the writer first: the last connection that can write removes the write-ahead log by its path,
     * which may lead to the file of another process.
     */
    close: async (): Promise<void> => {
      watch.close()
      if (!isTaken) closeReaders()
      await channel?.close()
      if (isTaken) closeReaders()
    },
  }
}
