import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDirectory, UNUSABLE } from '../../adapters/embedded/files/directory.ts'
import { messageOf } from '../../base/errors.ts'
import { fail, isFailure } from '../../base/failure.ts'
import { syncDirectory } from '../../base/replace-file.ts'
import { type Config, loadConfig } from '../../config/load.ts'

/** Directory that a file system has in its root. */
const OF_VOLUME = 'lost+found'

/** Names in a directory; empty if it does not exist. Fails if it is something else. */
export const namesIn = (directory: string): readonly string[] => {
  if (!lstatSync(directory, { throwIfNoEntry: false })) return []
  try {
    return readdirSync(directory).filter((name) => name !== OF_VOLUME)
  } catch (error) {
    return fail('usage', `${directory} cannot be used as a directory: ${messageOf(error)}`)
  }
}

/** Creates a directory that only its owner can access, unless it exists. Its name is durable. */
export const createDirectory = async (directory: string): Promise<void> => {
  try {
    makeDirectory(directory)
    await syncDirectory(dirname(directory))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === UNUSABLE) fail('usage', messageOf(error))
    throw error
  }
}

/**
 * Removes the permissions of group and others from a directory that one of them can write. Fails if others can write the
 * directory of another user, because they could exchange its files.
 */
export const closeDirectory = (directory: string): void => {
  const { mode } = statSync(directory)
  if ((mode & 0o022) === 0) return
  try {
    chmodSync(directory, mode & 0o7700)
  } catch (error) {
    // The group of a volume belongs to the service.
    if ((mode & 0o002) === 0) return
    fail(
      'usage',
      `${directory} can be written by other users: ${messageOf(error)}`,
      'Name a directory that does not exist.',
    )
  }
}

/** Runs work on a directory. Errors of the system, such as a full disk, get its name and the next step. */
export const inCopy = async <T>(directory: string, next: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (isFailure(error)) throw error
    return fail('failed', `${directory} is incomplete: ${messageOf(error)}`, next)
  }
}

/** Configuration of a directory that has all files of a store. */
export const configOfCopy = (directory: string): Config =>
  loadConfig({
    env: {},
    flags: {
      'storage.type': 'embedded',
      'storage.data_dir': directory,
      'keys.file': join(directory, 'keys'),
      'history.ledger.key_file': join(directory, 'signing-key.pem'),
    },
  }).config
