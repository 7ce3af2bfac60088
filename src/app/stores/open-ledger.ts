import { join } from 'node:path'
import type { Mongo } from '../../adapters/mongodb/open.ts'
import { Refusal } from '../../base/errors.ts'
import type { Config } from '../../config/load.ts'
import type { LedgerPorts, LedgerStore } from '../../ledger/ledger-store.ts'
import type { Logger } from '../telemetry/logger.ts'

type Warn = Pick<Logger, 'warn'>

const UNWRITABLE =
  'the copy of the sealed record next to the signing key cannot be written; only the store of the ledger has it'

/** Signing key in a file, and a second copy of the sealed record next to it. */
const withKeyFile = async (path: string, store: LedgerPorts['store'], logger: Warn): Promise<LedgerPorts> => {
  const files = await import('../../adapters/embedded/ledger/signing-key-file.ts')
  let isReported = false
  const onUnwritable = ({ message }: Error) => {
    if (!isReported) logger.warn({ why: message }, UNWRITABLE)
    isReported = true
  }
  return {
    store: files.withSealedFile(store, `${path}.sealed`, onUnwritable),
    keys: files.signingKeyFile(path),
  }
}

/**
 * Refuses the records of a ledger once its file was moved, removed or replaced, because the paths of the file and of
 * the copy next to the signing key may lead to the files of another process.
 */
const whileInPlace = (store: LedgerStore, insist: () => void): LedgerStore => {
  const inPlace = (): void => {
    try {
      insist()
    } catch (cause) {
      throw new Refusal('backend_unavailable', undefined, { cause })
    }
  }
  const guarded =
    <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      inPlace()
      return call(...args)
    }
  const { sealed, begin, advance, startOver } = store
  return {
    ...store,
    sealed: guarded(sealed),
    begin: guarded(begin),
    advance: guarded(advance),
    startOver: guarded(startOver),
  }
}

/**
 * Opens the ledger of a data directory. A file that does not open is renamed, and its tiles are made from the log.
 * `watch` is called with the open file.
 */
export const openLedgerInDirectory = async (
  config: Config,
  logger: Warn,
  watch: (file: string) => void = () => undefined,
): Promise<LedgerPorts> => {
  const { openLedgerFile } = await import('../../adapters/embedded/ledger/ledger-thread.ts')
  const { setAside } = await import('../../adapters/embedded/files/directory.ts')
  const { insistOnSame } = await import('../../adapters/embedded/files/watched-files.ts')
  const file = join(config.storage.data_dir, 'ledger.sqlite')
  const store = await openLedgerFile(file).catch((error: Error) => {
    const renamed = setAside(file)
    logger.warn({ file: renamed, why: error.message }, 'a damaged file of the ledger was set aside')
    return openLedgerFile(file)
  })
  watch(file)
  const { store: whole, keys } = await withKeyFile(config.history.ledger.key_file!, store, logger)
  return { store: whileInPlace(whole, insistOnSame([file])), keys }
}

/** Opens the ledger on servers. Without a key file the key is in MongoDB. */
export const openLedgerOnServers = async (
  config: Config,
  { ledger, signingKeys }: Pick<Mongo, 'ledger' | 'signingKeys'>,
  logger: Warn,
): Promise<LedgerPorts> => {
  const store = { ...ledger, close: async () => undefined }
  const { key_file: file } = config.history.ledger
  return file === undefined ? { store, keys: signingKeys } : withKeyFile(file, store, logger)
}

/** Opens the ledger at the first use, so that programs without need of it open nothing. */
export const lazily = (open: () => Promise<LedgerPorts>) => {
  let opened: Promise<LedgerPorts> | undefined
  return {
    ledger: (): Promise<LedgerPorts> => (opened ??= open()),
    closeLedger: async (): Promise<void> => (await opened?.catch(() => undefined))?.store.close(),
  }
}
