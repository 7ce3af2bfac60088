import { isUtf8 } from 'node:buffer'
import { basename } from 'node:path'
import { fail } from '../../base/failure.ts'
import { bytesOf, whyUnread } from '../../base/regular-file.ts'
import { HASH_BYTES, hashOfBase64 } from '../hashes.ts'
import { parseCheckpoint, parseSize } from '../note/checkpoint.ts'
import { type CheckpointFault, type VerifiedCheckpoint, verifyCheckpoint, verifyNote } from '../note/signatures.ts'
import { parseVkey, type VerifierKey } from '../note/vkey.ts'

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

/** Returns hashes of 32 bytes one after the other, from one base64 text a line; undefined if a line is malformed. */
export const hashesOfLines = (lines: readonly string[]): Buffer | undefined => {
  const bytes = Buffer.alloc(lines.length * HASH_BYTES)
  for (const [n, line] of lines.entries()) {
    const hash = hashOfBase64(line)
    if (hash === undefined) return undefined
    bytes.set(hash, n * HASH_BYTES)
  }
  return bytes
}

/** Returns the lines of a text, without the end of the last one. */
export const linesOf = (text: string): readonly string[] =>
  text === '' ? [] : text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined)

/** Reads the retained leaves of a log: one base64 hash a line from index 0. */
const readHashes = async (path: string): Promise<Buffer> =>
  hashesOfLines(linesOf(await textOfFile(path, 'The file of --hashes'))) ??
  fail('usage', `${path} is not a list of hashes: it needs one base64 hash of 32 bytes a line.`)

/** A checkpoint with its source. */
export type Named = { readonly name: string; readonly text: string }

/**
 * Keys to trust: those given, and each offered key of a ledger that signed a checkpoint together with a trusted key of
 * the same ledger, which happens when a key is changed. The signature of a witness makes no key trusted.
 */
export const trustedKeys = (
  given: readonly VerifierKey[],
  offered: readonly VerifierKey[],
  checkpoints: readonly Named[],
): readonly VerifierKey[] => {
  const trusted = [...given]
  const others = offered.filter(({ name, id }) => !trusted.some((key) => key.name === name && key.id === id))
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false
    for (const { text } of checkpoints) {
      const parsed = parseCheckpoint(text)
      const isOfLedger = ({ type, name }: VerifierKey) => type === 'ed25519' && name === parsed?.origin
      const signed = parsed && verifyNote(parsed.note, [...trusted, ...others].filter(isOfLedger))
      if (!Array.isArray(signed) || !signed.some(({ key }) => trusted.includes(key))) continue
      for (const { key } of signed as readonly { readonly key: VerifierKey }[]) {
        const at = others.indexOf(key)
        if (at < 0) continue
        trusted.push(...others.splice(at, 1))
        isGrowing = true
      }
    }
  }
  return trusted
}

/** Evidence that a verifier retained: keys (undefined: those of the manifest), checkpoints, and leaves from index 0. */
export type Retained = {
  readonly keys: readonly VerifierKey[] | undefined
  readonly checkpoints: readonly Named[]
  readonly hashes: Buffer | undefined
}

/** Names of the files with retained evidence, and of keys. */
export type Evidence = {
  readonly vkey?: readonly string[]
  readonly checkpoint?: readonly string[]
  readonly hashes?: string
}

/** Reads retained evidence. */
export const readEvidence = async ({ vkey, checkpoint = [], hashes }: Evidence): Promise<Retained> => ({
  keys: vkey && (await keysGiven(vkey)),
  checkpoints: await Promise.all(
    checkpoint.map(async (path) => ({ name: basename(path), text: await retainedText(path) })),
  ),
  hashes: hashes === undefined ? undefined : await readHashes(hashes),
})
