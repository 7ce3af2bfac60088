import { parseCheckpoint } from '../../ledger/note/checkpoint.ts'
import { verifyNote } from '../../ledger/note/note.ts'
import type { VerifierKey } from '../../ledger/note/vkey.ts'

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
