import { isUtf8 } from 'node:buffer'
import { Option } from 'commander'
import { fail } from '../../base/failure.ts'
import { bytesOf, whyUnread } from '../../base/regular-file.ts'
import { hashOfBase64 } from '../../ledger/base64.ts'
import { parseCheckpoint, parseSize } from '../../ledger/note/checkpoint.ts'
import type { VerifierKey } from '../../ledger/note/vkey.ts'
import { keysOf } from '../../ledger/retained-checkpoint.ts'
import { several } from '../options.ts'

/**
 * Returns a text without the changes that mail and editors make: BOM, carriage returns, blanks around lines, empty lines
 * at both ends, and the signs of a quotation. The last line has an end.
 */
export const plainText = (text: string): string => {
  const lines = text.split(/\r*\n|\r/).map((line) => line.trim())
  const isQuoted = lines.every((line) => line === '' || line.startsWith('>'))
  const content = (isQuoted ? lines.map((line) => line.replace(/^[>\s]+/, '')) : lines).join('\n').trim()
  return content === '' ? '' : `${content}\n`
}

/** Returns the text of a file, unchanged. */
export const exactTextOfFile = async (
  path: string,
  name: string,
  exit: 'usage' | 'check' = 'check',
): Promise<string> => {
  const bytes = await bytesOf(path).catch((error: unknown) => {
    const why = whyUnread(error)
    return fail(why === 'ENOENT' ? 'notFound' : 'failed', `${name} ${path} cannot be read (${why}).`)
  })
  return isUtf8(bytes) ? bytes.toString() : fail(exit, `${name} ${path} is not UTF-8.`)
}

/** Returns the plain text of a file that a person hands over; fails with exit code 2 if it is no text. */
export const textOfFile = async (path: string, name: string): Promise<string> =>
  plainText(await exactTextOfFile(path, name, 'usage'))

const whyNoCheckpoint = (text: string): string => {
  const [, size = '', root = ''] = text.split('\n')
  if (text === '') return 'it is empty'
  if (parseSize(size) === undefined) return 'its second line is not a number of events'
  if (hashOfBase64(root) === undefined) return 'its third line is not a root'
  return text.includes('\n\n— ') ? 'a line of a signature is damaged' : 'it has no signature after an empty line'
}

/** Returns the text of a retained checkpoint, not verified; fails with exit code 2 if the file has none. */
export const retainedText = async (path: string, name = 'The checkpoint'): Promise<string> => {
  const text = await textOfFile(path, name)
  return parseCheckpoint(text) ? text : fail('usage', `${path} is not a checkpoint: ${whyNoCheckpoint(text)}.`)
}

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
