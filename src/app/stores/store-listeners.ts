import type { KeyFile } from '../../adapters/embedded/files/secret-file.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The secrets of the service: keys of token digests and of personal data. */
export type Secrets = KeyFile

/** Listeners for faults and changes of the stores. */
export type StoreListeners = {
  readonly onError?: (job: string, error: unknown) => void
  readonly onFull?: (full: boolean) => void
  /** The embedded store can no longer be written. */
  readonly onLost?: (error: Error) => void
  /** The event log, or the file of the read models, of the embedded store is damaged. */
  readonly onDamage?: (error: Error) => void
  readonly onDamagedViews?: (error: Error) => void
  readonly logger?: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** Initial content of the stores, and the losses that the operator accepts. */
export type InitialState = {
  /** Secrets for stores that have none yet. */
  readonly secrets?: Secrets
  /** Events that are appended keep their times, as those of a log that is moved. */
  readonly keepsTimes?: boolean
  /** Fails if the log has no event, before anything is created. */
  readonly mustExist?: boolean
  /** Reason of the operator for starting without the keys that the history was written with. */
  readonly acceptLostKeys?: string | undefined
  /** Reason of the operator for starting with a damaged log. */
  readonly acceptDamagedLog?: string | undefined
}

/** Discards all messages. */
export const silent: Pick<Logger, 'info' | 'warn' | 'error'> = { info: () => {}, warn: () => {}, error: () => {} }
