import type { KeyFile } from './adapters/embedded/key-file.ts'
import type { Config } from './config.ts'
import type { Keys } from './events/personal.ts'
import type { Log } from './events/log.ts'
import type { Queue } from './jobs/queue.ts'
import type { Views } from './projections/views.ts'

/** Where this deployment lives: the three ports, the keys of subjects, and the key that token digests and page tokens are made with. */
export type Stores = {
  readonly log: Log
  readonly views: Views
  readonly queue: Queue
  readonly keys: Keys
  readonly pepper: { readonly kid: string; readonly key: Uint8Array }
  /** True when no other instance writes to these stores, so what this instance knows is all there is. */
  readonly alone: boolean
  /** True while this instance is the one that follows the log for the views. */
  readonly writes: () => boolean
  readonly close: () => Promise<void>
}

/** The service's own secrets, which tokens and personal data are sealed with. */
export type Secrets = KeyFile

/** Says which directory it is that cannot be used; most causes (a full disk) do not name it. */
const inDirectory = async <T>(directory: string, open: () => Promise<T>): Promise<T> => {
  try {
    return await open()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw why.includes(directory) ? cause : new Error(`data directory ${directory} cannot be used: ${why}`, { cause })
  }
}

/** Opens the stores that the configuration names; drivers are loaded only for those. A place that has no secrets yet begins with those given. */
export const openStores = async (config: Config, onError: (job: string, error: unknown) => void, given?: Secrets): Promise<Stores> => {
  if (config.storage.type !== 'embedded') throw new Error('storage.type cluster is not offered in this version')
  const { openEmbedded } = await import('./adapters/embedded/open.ts')
  const { openKeyFile } = await import('./adapters/embedded/key-file.ts')
  const { pepper, kek } = await openKeyFile(config.keys.file!, given)
  const { data_dir } = config.storage
  const embedded = await inDirectory(data_dir, () => openEmbedded(data_dir, { kek, onError }))
  return { ...embedded, pepper, alone: true, writes: () => true }
}
