import { reader } from '../events/define.ts'
import { LEDGER_STREAM, ledgerEvents } from '../events/deployment.ts'
import type { EventLog } from '../events/log.ts'
import { isSameHash } from '../verifier/hashes.ts'
import { parseVkey, type VerifierKey } from '../verifier/note/vkey.ts'
import type { VerifiedProof } from '../verifier/proof/proof-text.ts'

/** A signing key of the ledger. `until` is absent for the current one. */
export type LedgerKey = {
  readonly vkey: string
  readonly since: string
  readonly until?: string
  readonly compromised: boolean
}

/** The ledger that the log names. */
export type LedgerOfLog = {
  readonly ledger: string
  readonly origin: string
  /** All keys of this ledger, the current one last. */
  readonly keys: readonly LedgerKey[]
  /** Position of the event that names the current key. */
  readonly keyPosition: bigint
}

const read = reader(ledgerEvents)

/** Reads the ledger that the log names; undefined if it names none. */
export const ledgerOfLog = async (log: Pick<EventLog, 'read'>): Promise<LedgerOfLog | undefined> => {
  let found: LedgerOfLog | undefined
  for await (const page of log.read(LEDGER_STREAM))
    for (const { type, data, time, position } of page) {
      const event = read(type, data)
      if (event.type === 'SigningKeyChanged') {
        const { to, compromised } = event.data
        const earlier = found?.keys ?? []
        const keys = earlier.map((key, n) => (n === earlier.length - 1 ? { ...key, until: time, compromised } : key))
        if (found)
          found = { ...found, keyPosition: position, keys: [...keys, { vkey: to, since: time, compromised: false }] }
      } else {
        const { ledger, origin, vkey } = event.data
        found = { ledger, origin, keys: [{ vkey, since: time, compromised: false }], keyPosition: position }
      }
    }
  return found
}

/** Proven change of the signing key of a ledger: the event at `index` replaced the key `from` by the key `to`. */
export type KeyChange = {
  readonly index: number
  readonly from: VerifierKey
  readonly to: VerifierKey
  readonly compromised: boolean
}

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
