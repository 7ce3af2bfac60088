import { reader } from '../events/define.ts'
import { LEDGER_STREAM, ledgerEvents } from '../events/deployment.ts'
import type { EventLog } from '../events/log.ts'

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
