import { UNUSABLE } from '../../adapters/embedded/files/directory.ts'
import { damagedFile } from '../../adapters/embedded/sqlite.ts'
import { messageOf, Refusal } from '../../base/errors.ts'
import { fail, isFailure } from '../../base/failure.ts'
import { damagedStart } from './damage.ts'

/** Adds the data directory to errors, because most causes (such as a full disk) do not name it. */
export const inDirectory = async <T>(directory: string, open: () => Promise<T>): Promise<T> => {
  try {
    return await open()
  } catch (cause) {
    if (isFailure(cause)) throw cause
    const found = cause instanceof Refusal && cause.cause instanceof Error ? cause.cause : cause
    const why = messageOf(found)
    if (found instanceof Error && 'code' in found && found.code === UNUSABLE)
      fail('usage', `data directory ${directory} cannot be used: ${why}`)
    if (damagedFile(found) !== undefined) damagedStart(`data directory ${directory} cannot be used: ${why}`)
    throw why.includes(directory) ? cause : new Error(`data directory ${directory} cannot be used: ${why}`, { cause })
  }
}
