import { accessEvents } from './access.ts'
import { FIRST_FORMAT, type Shape, type Shapes } from './define.ts'
import {
  erasureEvents,
  historyEvents,
  historyReadEvents,
  instanceEvents,
  keysEvents,
  ledgerEvents,
  membershipEvents,
} from './deployment.ts'
import { flagEvents } from './flag.ts'
import { loginEvents, logoutEvents } from './login.ts'
import { namespaceEvents } from './namespace.ts'
import { refusalEvents } from './refusal.ts'
import { segmentEvents } from './segment.ts'
import { tokenEvents } from './token.ts'

/** All events: category → shapes. Source for the documentation, the export and the frozen samples. */
export const catalog = {
  token: tokenEvents,
  login: { ...loginEvents, ...logoutEvents },
  refusal: refusalEvents,
  namespace: namespaceEvents,
  flag: flagEvents,
  segment: segmentEvents,
  keys: { ...keysEvents, ...erasureEvents },
  history: { ...historyEvents, ...historyReadEvents, ...ledgerEvents },
  access: accessEvents,
  instance: { ...instanceEvents, ...membershipEvents },
} as const satisfies Readonly<Record<string, Shapes>>

/**
 * Latest format of the history that this build reads. Events are written in this format as soon as every instance reads
 * it.
 */
export const FORMAT: number = Object.values<Shapes>(catalog)
  .flatMap((shapes) => Object.values<Shape>(shapes))
  .reduce((latest, { format }) => Math.max(latest, format), FIRST_FORMAT)

/** Name and content of the streams of each category. */
export const streams: Readonly<Record<keyof typeof catalog, { readonly name: string; readonly tells: string }>> = {
  token: {
    name: 'token-<id>',
    tells: 'The lifecycle of one client token. All methods of issuing a token use this stream.',
  },
  login: {
    name: 'login-<digest of state>, login-<YYYY-MM-DD>+<pseudonym>',
    tells:
      'One login, from its callback on. A login whose callback never arrives has no stream. The secrets that are needed to complete a login are never stored. The logouts that a provider reported, one stream for each person or session and day.',
  },
  refusal: {
    name: 'refusal-<YYYY-MM-DD>+<id>',
    tells:
      'Refused requests and the number of started logins, in batches. The number of events is bounded, so that hostile traffic cannot fill the log. If a process is killed, up to one minute of counts is lost.',
  },
  namespace: { name: 'namespace-<key>', tells: 'All incarnations of one namespace key, in order.' },
  flag: {
    name: 'flag-<namespace>+<key>',
    tells: 'The lifecycle of one flag with its variants, rules, distributions and rollouts.',
  },
  segment: { name: 'segment-<namespace>+<key>', tells: 'The lifecycle of one segment with its constraints.' },
  keys: {
    name: 'keys-main, keys-<subject>',
    tells:
      "Losses of the service's keys that an operator accepted, in `keys-main`. The erasure of a subject, one stream for each subject.",
  },
  history: {
    name: 'history-main, history-ledger, history-<YYYY-MM-DD>+<id>',
    tells:
      'Damage to the history that an operator accepted, in `history-main`. The ledger and its signing keys, in `history-ledger`. Reads of the history, one stream for each record.',
  },
  access: {
    name: 'access-main',
    tells:
      'The access configuration: whether a credential is required, the rights of roles, and the rules for logins and exchanges. When an instance starts and its access configuration differs from the last recorded one, it records its own.',
  },
  instance: {
    name: 'instance-<instance>',
    tells:
      'Start and stop of one service process, and its actions on shared data. `instance-main` is the cluster membership: the running instances, and the format that each reads.',
  },
}
