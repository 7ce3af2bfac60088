import type { OnLargeLog } from '../../adapters/embedded/files/taken-away.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Listeners that log the fate of single files of a data directory. */
export const fileNotices = (logger: Pick<Logger, 'info' | 'warn'>) => {
  const onSetAside = (file: string, { message }: Error): void =>
    logger.warn(
      { file, why: message },
      'damaged read models were set aside in a renamed file; they are rebuilt from the event log',
    )
  const onSnapshotSetAside = (file: string, { message }: Error): void =>
    logger.warn(
      { file, why: message },
      'the path of the memory snapshot is not a regular file, so the service renamed the object at this path',
    )
  const onLargeLog: OnLargeLog = (file, bytes, isLarge) =>
    isLarge
      ? logger.warn(
          { file, bytes },
          'a write-ahead log is large: another program holds a read transaction, or a backup runs; end that program, and the file shrinks',
        )
      : logger.info({ file, bytes }, 'the write-ahead log is small again')
  return { onSetAside, onSnapshotSetAside, onLargeLog }
}
