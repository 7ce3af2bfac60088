import { type DataOf, reader } from '../events/define.ts'
import { type LedgerEvent, ledgerEvents } from '../events/ledger.ts'
import type { Decider } from './decider.ts'

type LedgerCommands = {
  StartLedger: DataOf<LedgerEvent, 'LedgerStarted'>
  ChangeSigningKey: DataOf<LedgerEvent, 'SigningKeyChanged'>
  RestartLedger: DataOf<LedgerEvent, 'LedgerRestarted'>
}

/** The ledger that the log names. All fields are undefined until the first ledger has started. */
type LedgerState = { readonly ledger?: string; readonly origin?: string; readonly vkey?: string }

/** Id of the only stream. */
export const LEDGER_ID = 'ledger'

/** Decider of the ledger. A ledger starts once. A command that replaces a signing key must name the current key. */
export const ledger: Decider<LedgerState, LedgerCommands, LedgerEvent> = {
  category: 'history',
  shapes: ledgerEvents,
  read: reader(ledgerEvents),
  initial: {},
  exists: (state) => state.ledger !== undefined,
  decide: {
    StartLedger: (state, data) => (state.ledger === undefined ? [{ type: 'LedgerStarted', data }] : []),
    ChangeSigningKey: (state, data) =>
      state.ledger === data.ledger && state.vkey === data.from ? [{ type: 'SigningKeyChanged', data }] : [],
    RestartLedger: (state, data) => (state.ledger === data.ledger ? [] : [{ type: 'LedgerRestarted', data }]),
  },
  evolve: {
    LedgerStarted: (_, { ledger: id, origin, vkey }) => ({ ledger: id, origin, vkey }),
    SigningKeyChanged: (state, { to }) => ({ ...state, vkey: to }),
    LedgerRestarted: (_, { ledger: id, origin, vkey }) => ({ ledger: id, origin, vkey }),
  },
}
