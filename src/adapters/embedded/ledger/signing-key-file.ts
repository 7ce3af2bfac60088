import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { bytesOf } from '../../../base/regular-file.ts'
import { isOwnNextOf, ownNextOf, replaceFile, syncDirectory } from '../../../base/replace-file.ts'
import {
  type LedgerStore,
  newSigningKey,
  pemOf,
  type SealedRecord,
  type SigningKeys,
  sealedRecordOf,
} from '../../../ledger/ledger-store.ts'
import { closeToOthers, createSecretFile, readSecretFile } from '../files/secret-file.ts'

const KIND = 'signing key file'

const keyOf = (pem: string, name: string): KeyObject => {
  let key: KeyObject | undefined
  try {
    key = createPrivateKey(pem)
  } catch {
    // The message of the parser may quote the content.
  }
  if (key?.asymmetricKeyType !== 'ed25519') throw new Error(`${name} has no Ed25519 private key in PKCS#8 PEM`)
  return key
}

/** Reads the signing key; undefined without a file. Throws if the file is invalid or other users can read it. */
const readSigningKey = async (path: string): Promise<KeyObject | undefined> => {
  const pem = await readSecretFile(KIND, path)
  return pem === undefined ? undefined : keyOf(pem, `${KIND} ${path}`)
}

/** Reads the signing key, which is created durably if the file does not exist. */
const openSigningKey = async (path: string): Promise<KeyObject> => {
  const found = await readSigningKey(path)
  if (found) return found
  await createSecretFile(KIND, path, pemOf(newSigningKey()))
  return (await readSigningKey(path))!
}

/** Path of the key that is to replace a key. */
const nextKeyOf = (path: string): string => `${path}.next`

/** Operations on the signing key file. The next key is a file next to it. */
export const signingKeyFile = (path: string): SigningKeys => ({
  read: () => readSigningKey(path),
  open: () => openSigningKey(path),
  next: () => readSigningKey(nextKeyOf(path)),
  prepare: async (key) => {
    try {
      await replaceFile(nextKeyOf(path), [pemOf(key)], undefined, path)
    } catch (cause) {
      throw new Error(`${KIND} ${path} cannot be replaced: ${(cause as Error).message}`, { cause })
    }
  },
  promote: async () => {
    try {
      await rename(nextKeyOf(path), path)
    } catch (error) {
      // Another process has completed the change.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    await syncDirectory(dirname(path))
  },
})

/** Sealed record in a file next to the signing key; undefined without a file. Throws if the file does not hold a record. */
export const recordNextToKey = async (path: string): Promise<SealedRecord | undefined> => {
  let text: string
  try {
    text = String(await bytesOf(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return sealedRecordOf(text, path)
}

/** Removes the temporary files of processes that were killed while they wrote a record older than the present one. */
const removeInterrupted = (path: string): void => {
  const [directory, name] = [dirname(path), basename(path)]
  const present = statSync(path, { throwIfNoEntry: false })
  for (const found of present ? readdirSync(directory) : []) {
    if (!isOwnNextOf(found, name)) continue
    const file = join(directory, found)
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats && stats.mtimeMs < present!.mtimeMs) rmSync(file, { force: true })
  }
}

/**
 * A ledger store with a second copy of the sealed record in the file `path`. The copy is written before the record of
 * the store, so it is never older than a signature. A file that cannot be written is reported, because a mounted Secret
 * is read-only, and the store alone holds the record then.
 */
export const withSealedFile = (store: LedgerStore, path: string, onUnwritable: (error: Error) => void): LedgerStore => {
  try {
    closeToOthers(path)
    removeInterrupted(path)
  } catch (error) {
    // A file of another user: a read or write of it reports more.
    onUnwritable(error as Error)
  }
  const write = async (record: SealedRecord): Promise<void> => {
    try {
      await replaceFile(path, [`${JSON.stringify(record)}\n`], ownNextOf(path))
    } catch (error) {
      onUnwritable(error as Error)
    }
  }
  return {
    ...store,
    sealed: async () => {
      const nextToKey = await recordNextToKey(path)
      return { ...(await store.sealed()), ...(nextToKey && { nextToKey }) }
    },
    begin: async (record) => {
      await store.begin(record)
      const { stored } = await store.sealed()
      if (stored) await write(stored)
    },
    advance: async (from, to) => {
      await write(to)
      return store.advance(from, to)
    },
    startOver: async (record) => {
      await write(record)
      await store.startOver(record)
    },
  }
}
