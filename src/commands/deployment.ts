import { canonical } from '../base/canonical.ts'
import { type AccessEvent, accessEvents } from '../events/access.ts'
import { type DataOf, reader } from '../events/define.ts'
import {
  type HistoryEvent,
  type HistoryReadEvent,
  historyEvents,
  historyReadEvents,
  type InstanceEvent,
  instanceEvents,
  type KeysEvent,
  keysEvents,
  type LedgerEvent,
  ledgerEvents,
} from '../events/deployment.ts'
import { type RefusalEvent, refusalEvents } from '../events/refusal.ts'
import type { Decider } from './decider.ts'

type InstanceCommands = {
  RecordStart: DataOf<InstanceEvent, 'InstanceStarted'>
  RecordStop: DataOf<InstanceEvent, 'InstanceStopped'>
  RecordRebuild: DataOf<InstanceEvent, 'ReadModelsRebuilt'>
}

/** Recorded events of the process. */
type InstanceState = { readonly recorded: boolean; readonly started: boolean; readonly stopped: boolean }

/** Decider of the events of one service process. An instance starts and stops at most once. */
export const instance: Decider<InstanceState, InstanceCommands, InstanceEvent> = {
  category: 'instance',
  shapes: instanceEvents,
  read: reader(instanceEvents),
  initial: { recorded: false, started: false, stopped: false },
  exists: ({ recorded }) => recorded,
  decide: {
    RecordStart: ({ started }, data) => (started ? [] : [{ type: 'InstanceStarted', data }]),
    RecordStop: ({ stopped }, data) => (stopped ? [] : [{ type: 'InstanceStopped', data }]),
    RecordRebuild: (_, data) => [{ type: 'ReadModelsRebuilt', data }],
  },
  evolve: {
    InstanceStarted: (state) => ({ ...state, recorded: true, started: true }),
    InstanceStopped: (state) => ({ ...state, recorded: true, stopped: true }),
    ReadModelsRebuilt: (state) => ({ ...state, recorded: true }),
  },
}

type HistoryCommands = { AcceptDamagedLog: DataOf<HistoryEvent, 'DamagedLogAccepted'> }

/** Numbers of missing positions and revisions when an operator last accepted damage; 0 if no damage was accepted. */
type HistoryState = { readonly positionsMissing: number; readonly revisionsMissing: number }

/** Id of the only stream. */
export const HISTORY_ID = 'main'

/** Decider of accepted log damage. Every acceptance is recorded. */
export const history: Decider<HistoryState, HistoryCommands, HistoryEvent> = {
  category: 'history',
  shapes: historyEvents,
  read: reader(historyEvents),
  initial: { positionsMissing: 0, revisionsMissing: 0 },
  exists: ({ positionsMissing, revisionsMissing }) => positionsMissing + revisionsMissing > 0,
  decide: { AcceptDamagedLog: (_, data) => [{ type: 'DamagedLogAccepted', data }] },
  evolve: {
    DamagedLogAccepted: (_, { positionsMissing, revisionsMissing }) => ({ positionsMissing, revisionsMissing }),
  },
}

export type HistoryReadCommands = {
  RecordReads: DataOf<HistoryReadEvent, 'HistoryRead'>
  RecordExport: DataOf<HistoryReadEvent, 'HistoryExported'>
}

/**
 * Decider of the record of reads of the history. Each record has its own stream and is written once, even if repeated.
 */
export const historyReads: Decider<{ readonly recorded: boolean }, HistoryReadCommands, HistoryReadEvent> = {
  category: 'history',
  shapes: historyReadEvents,
  read: reader(historyReadEvents),
  initial: { recorded: false },
  exists: ({ recorded }) => recorded,
  decide: {
    RecordReads: ({ recorded }, data) => (recorded ? [] : [{ type: 'HistoryRead', data }]),
    RecordExport: ({ recorded }, data) => (recorded ? [] : [{ type: 'HistoryExported', data }]),
  },
  evolve: {
    HistoryRead: () => ({ recorded: true }),
    HistoryExported: () => ({ recorded: true }),
  },
}

type KeysCommands = { AcceptLostKeys: DataOf<KeysEvent, 'LostKeysAccepted'> }

/** `kid` is the id of the pepper after the last accepted loss of keys; undefined if no loss was accepted. */
type KeysState = { readonly kid: string | undefined }

/** Id of the only stream. */
export const KEYS_ID = 'main'

/** Decider of accepted key losses. Every acceptance is recorded, even if the same loss is accepted again. */
export const keys: Decider<KeysState, KeysCommands, KeysEvent> = {
  category: 'keys',
  shapes: keysEvents,
  read: reader(keysEvents),
  initial: { kid: undefined },
  exists: ({ kid }) => kid !== undefined,
  decide: { AcceptLostKeys: (_, data) => [{ type: 'LostKeysAccepted', data }] },
  evolve: { LostKeysAccepted: (_, { kid }) => ({ kid }) },
}

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

type Configured = DataOf<AccessEvent, 'AccessConfigured'>
type AccessCommands = { ConfigureAccess: Configured }

/** Id of the only stream. */
export const ACCESS = 'main'

/**
 * Number of events in the stream, and the last recorded access configuration; undefined if its event cannot be read.
 */
type AccessState = { readonly events: number; readonly last?: Configured }

const byName = (one: { readonly name: string }, other: { readonly name: string }) => (one.name < other.name ? -1 : 1)

/** Canonical text of a configuration. Independent of the order of rules and of the service version. */
const textOf = ({ version: _version, rules, ...rest }: Configured): string =>
  canonical({ ...rest, rules: rules.toSorted(byName) })

/**
 * Decider of the access configuration, which each instance records at its start if it differs from the last recorded
 * one. Works even if a newer version of the service wrote events of unknown types to the stream.
 */
export const access: Decider<AccessState, AccessCommands, AccessEvent> = {
  category: 'access',
  shapes: accessEvents,
  read: reader(accessEvents),
  initial: { events: 0 },
  exists: ({ events }) => events > 0,
  unread: { commands: new Set(['ConfigureAccess']), state: ({ events }) => ({ events: events + 1 }) },
  decide: {
    ConfigureAccess: ({ last }, data) =>
      last && textOf(last) === textOf(data) ? [] : [{ type: 'AccessConfigured', data }],
  },
  evolve: { AccessConfigured: ({ events }, last) => ({ events: events + 1, last }) },
}

export type RefusalCommands = {
  RecordRefusals: {
    readonly refusals: readonly DataOf<RefusalEvent, 'AuthenticationRefused'>[]
    readonly summary?: DataOf<RefusalEvent, 'RefusalsSummarised'> | undefined
    readonly begun?: DataOf<RefusalEvent, 'LoginsBegun'> | undefined
  }
}

/** Decider of a batch of refusals. Each batch has its own stream and is recorded once, even if repeated. */
export const refusal: Decider<{ readonly recorded: boolean }, RefusalCommands, RefusalEvent> = {
  category: 'refusal',
  shapes: refusalEvents,
  read: reader(refusalEvents),
  initial: { recorded: false },
  exists: ({ recorded }) => recorded,
  decide: {
    RecordRefusals: ({ recorded }, { refusals, summary, begun }) =>
      recorded
        ? []
        : [
            ...refusals.map((data) => ({ type: 'AuthenticationRefused', data }) as const),
            ...(summary ? [{ type: 'RefusalsSummarised', data: summary } as const] : []),
            ...(begun ? [{ type: 'LoginsBegun', data: begun } as const] : []),
          ],
  },
  evolve: {
    AuthenticationRefused: () => ({ recorded: true }),
    RefusalsSummarised: () => ({ recorded: true }),
    LoginsBegun: () => ({ recorded: true }),
  },
}
