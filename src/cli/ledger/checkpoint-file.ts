import { isUtf8 } from 'node:buffer'
import { Option } from 'commander'
import { fail } from '../../failure.ts'
import { type CheckpointFault, type VerifiedCheckpoint, verifyCheckpoint } from '../../ledger/note/checkpoint.ts'
import { parseVkey, type VerifierKey } from '../../ledger/note/vkey.ts'
import { bytesOf, whyUnread } from '../../regular-file.ts'
import { several } from '../options.ts'

/** Returns the text of a file that an option names. */
export const textOfFile = async (path: string, name: string): Promise<string> => {
  const bytes = await bytesOf(path).catch((error: unknown) => {
    const why = whyUnread(error)
    return fail(why === 'ENOENT' ? 'notFound' : 'failed', `${name} ${path} cannot be read (${why}).`)
  })
  return isUtf8(bytes) ? bytes.toString() : fail('check', `${name} ${path} is not UTF-8.`)
}

/** Returns the verifier keys of texts; fails for a malformed one. */
export const keysOf = (vkeys: readonly string[]): readonly VerifierKey[] =>
  vkeys.map((text) => parseVkey(text.trim()) ?? fail('usage', `"${text.trim()}" is not a verifier key.`))

/** A verifier key has two plus signs; anything else is the path of a file with one. */
const isKey = (text: string): boolean => text.split('+').length > 2

/** Returns the verifier keys that `--vkey` names: each a key, or a file with one key a line. */
export const keysGiven = async (vkeys: readonly string[]): Promise<readonly VerifierKey[]> => {
  const texts = await Promise.all(vkeys.map(async (one) => (isKey(one) ? one : textOfFile(one, 'The key'))))
  return keysOf(texts.flatMap((text) => text.split('\n').filter((line) => line.trim() !== '')))
}

/** Option for the verifier keys that the user trusts. */
export const vkeyOption = (): Option =>
  new Option('--vkey <key>', 'verifier key that you trust, or a file with one a line (repeatable)').argParser(several)

/** Causes for which a checkpoint is refused, in words that follow its name. */
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
