import { fail } from '../../failure.ts'
import { type CheckpointFault, type VerifiedCheckpoint, verifyCheckpoint } from '../../ledger/checkpoint.ts'
import { parseVkey, type VerifierKey } from '../../ledger/vkey.ts'
import { bytesOf, whyUnread } from '../../regular-file.ts'

/** Returns the text of a file that an option names. */
export const textOfFile = async (path: string, name: string): Promise<string> => {
  const bytes = await bytesOf(path).catch((error: unknown) => {
    const why = whyUnread(error)
    return fail(why === 'ENOENT' ? 'notFound' : 'failed', `${name} ${path} cannot be read (${why}).`)
  })
  return bytes.toString()
}

/** Returns the verifier keys of texts; fails for a malformed one. */
export const keysOf = (vkeys: readonly string[]): readonly VerifierKey[] =>
  vkeys.map((text) => parseVkey(text.trim()) ?? fail('usage', `"${text.trim()}" is not a verifier key.`))

const REFUSED: Readonly<Record<CheckpointFault, string>> = {
  'malformed checkpoint': 'is not a checkpoint',
  'other origin': 'is a checkpoint of another ledger',
  'unknown key': 'has no signature of a known key',
  'wrong signature': 'has a wrong signature',
}

/** Returns the verified checkpoint of a text; fails with exit code 3 for any other text. `name` is its source. */
export const insistOnCheckpoint = (text: string, keys: readonly VerifierKey[], name: string): VerifiedCheckpoint => {
  const found = verifyCheckpoint(text, keys)
  return typeof found === 'string' ? fail('check', `${name} ${REFUSED[found]}.`) : found
}
