import { reader } from '../events/define.ts'
import { LEDGER_STREAM, ledgerEvents } from '../events/deployment.ts'
import { isSameHash } from '../verifier/hashes.ts'
import { parseVkey, type VerifierKey } from '../verifier/note/vkey.ts'
import type { VerifiedProof } from '../verifier/proof/proof-text.ts'

/** Proven change of the signing key of a ledger: the event at `index` replaced the key `from` by the key `to`. */
export type KeyChange = {
  readonly index: number
  readonly from: VerifierKey
  readonly to: VerifierKey
  readonly compromised: boolean
}

const read = reader(ledgerEvents)

const readChange = (wire: string, data: string) => {
  try {
    const event = read(wire, data)
    return event.type === 'SigningKeyChanged' ? event.data : undefined
  } catch {
    // The event has a form of another version.
    return undefined
  }
}

/** Returns the change of the signing key that a verified proof proves; undefined for any other event. */
export const keyChangeOf = ({ index, entry, data, checkpoint }: VerifiedProof): KeyChange | undefined => {
  const change = data !== undefined && entry.stream === LEDGER_STREAM ? readChange(entry.type, data) : undefined
  const [from, to] = [parseVkey(change?.from ?? ''), parseVkey(change?.to ?? '')]
  if (!change || from?.name !== checkpoint.origin || to?.name !== checkpoint.origin) return undefined
  return { index, from, to, compromised: change.compromised }
}

const isSameKey = (one: VerifierKey, other: VerifierKey): boolean =>
  one.name === other.name && isSameHash(one.publicKey, other.publicKey)

/** Returns the changes that lead, one after the other, from earlier keys of a ledger to one of the given keys. */
export const changesTo = (keys: readonly VerifierKey[], changes: readonly KeyChange[]): readonly KeyChange[] => {
  const found: KeyChange[] = []
  for (const change of changes.toSorted((one, other) => other.index - one.index))
    if ([...keys, ...found.map(({ from }) => from)].some((key) => isSameKey(key, change.to))) found.push(change)
  return found
}
