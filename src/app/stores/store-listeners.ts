import type { KeyFile } from '../../adapters/embedded/files/key-file.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The service's own secrets, which tokens and personal data are sealed with. */
export type Secrets = KeyFile

/** Listeners for what happens to the stores. */
export type StoreListeners = {
  /** A job or a server failed. */
  readonly onError?: (job: string, error: unknown) => void
  /** The disk is full, or has room again. */
  readonly onFull?: (full: boolean) => void
  /** The embedded store can be written no more. */
  readonly onLost?: (error: Error) => void
  /** Of the embedded store, the history, or the file of the read models, is damaged. */
  readonly onDamage?: (error: Error) => void
  readonly onDamagedViews?: (error: Error) => void
  /** Where what concerns the operator is told. */
  readonly logger?: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** What a place may begin with. */
export type InitialState = {
  /** The secrets of a place that has none yet. */
  readonly secrets?: Secrets
  /** Why the service goes on though keys that its history was written with are lost. */
  readonly acceptLostKeys?: string | undefined
  /** Why the service goes on though its log is damaged. */
  readonly acceptDamagedLog?: string | undefined
}

/** Tells nobody. */
export const silent: Pick<Logger, 'info' | 'warn' | 'error'> = { info: () => {}, warn: () => {}, error: () => {} }
