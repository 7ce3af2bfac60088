import { parseCheckpoint } from '../../../src/verifier/note/checkpoint.ts'
import { readLedger } from '../api/ledger.ts'
import { seen } from './remembered.ts'
import { isTrusted, ledgerKeyOf, signatureOf } from './signature.ts'
import { trusted, unlike } from './verify.ts'

/**
 * Result of the comparison of a saved checkpoint with the newest one. `extended`: the newest tree begins with the saved
 * one. `unlike`: it does not. `foreign`: another ledger made the saved one. `unsigned`: no key of the ledger signed it.
 * `untrusted`: the newest checkpoint itself has no signature of the known key.
 */
export type Comparison =
  | { readonly kind: 'extended' | 'unlike'; readonly saved: number; readonly newest: number }
  | { readonly kind: 'malformed' | 'foreign' | 'unsigned' | 'untrusted' }

/** Compares a saved checkpoint with the newest one by a consistency proof (api.md §17.5). */
export const compareSaved = async (text: string): Promise<Comparison> => {
  // Mail adds carriage returns, signs of a quotation and blanks.
  const plain = text.replace(/\r*\n|\r/g, '\n').replace(/^[ \t>]+|[ \t]+$/gm, '')
  const saved = parseCheckpoint(`${plain.trim()}\n`)
  if (!saved || saved.size === 0) return { kind: 'malformed' }
  const status = await readLedger()
  if (status.origin !== saved.origin) return { kind: 'foreign' }
  const vkeys = new Set([seen(status)?.vkey ?? '', ...status.keys.map(({ vkey }) => vkey)])
  const keys = [...vkeys].flatMap((vkey) => ledgerKeyOf(vkey) ?? [])
  const signed = await Promise.all(keys.map((key) => signatureOf(saved, key)))
  if (!signed.some(isTrusted)) return { kind: 'unsigned' }
  const found = await trusted(status, saved.size)
  if ('kind' in found) return { kind: 'untrusted' }
  const { checkpoint } = found
  const kind = (await unlike(saved, checkpoint)) ? 'unlike' : 'extended'
  return { kind, saved: saved.size, newest: checkpoint.size }
}
