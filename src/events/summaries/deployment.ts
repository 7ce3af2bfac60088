import type { accessEvents } from '../access.ts'
import type { erasureEvents } from '../erasure.ts'
import type { historyEvents } from '../history.ts'
import type { historyReadEvents } from '../history-reads.ts'
import type { instanceEvents } from '../instance.ts'
import type { keysEvents } from '../keys.ts'
import type { ledgerEvents } from '../ledger.ts'
import type { membershipEvents } from '../membership.ts'
import { counted, joined, plain, type Summaries } from './sentence.ts'

const INSTANCE = 'instance <instance>'
const instanceOf = ({ instance }: { readonly instance: string }) => `instance ${plain(instance)}`

/** Summaries of accepted losses of keys, and of erasures. */
export const keysSummaries: Summaries<typeof keysEvents & typeof erasureEvents> = {
  SubjectErasureRequested: {
    patterns: ['erasure of personal data of <subject> requested'],
    of: ({ subject }) => `erasure of personal data of ${plain(subject)} requested`,
  },
  SubjectErased: {
    patterns: ['personal data of <subject> erased'],
    of: ({ subject }) => `personal data of ${plain(subject)} erased`,
  },
  LostKeysAccepted: {
    patterns: ['loss of <keys> accepted'],
    of: ({ tokens, subjects }) => {
      const lost = [...(tokens ? ['the pepper of tokens'] : []), ...(subjects ? ['the keys of subjects'] : [])]
      return `loss of ${joined(lost, 'and')} accepted`
    },
  },
}

/** Summaries of accepted damage to the history, of its ledger, and of its reads. */
export const historySummaries: Summaries<typeof historyEvents & typeof historyReadEvents & typeof ledgerEvents> = {
  LedgerStarted: {
    patterns: ['ledger <ledger> started'],
    of: ({ ledger }) => `ledger ${plain(ledger)} started`,
  },
  SigningKeyChanged: {
    patterns: ['signing key of ledger <ledger> changed[, because it may be known to others]'],
    of: ({ ledger, compromised }) =>
      `signing key of ledger ${plain(ledger)} changed${compromised ? ', because it may be known to others' : ''}`,
  },
  LedgerRestarted: {
    patterns: ['ledger restarted as <ledger>'],
    of: ({ ledger }) => `ledger restarted as ${plain(ledger)}`,
  },
  HistoryRead: {
    patterns: ['history read by <n> request[s], <n> event[s] shown'],
    of: ({ requests, events }) => `history read by ${counted(requests, 'request')}, ${counted(events, 'event')} shown`,
  },
  HistoryExported: {
    patterns: ['history exported as <format>, from index <index>[ to <index>][, with personal data]'],
    of: ({ format, fromIndex, toIndex, personal }) => {
      const end = toIndex === undefined ? '' : ` to ${toIndex}`
      return `history exported as ${plain(format)}, from index ${fromIndex}${end}${personal ? ', with personal data' : ''}`
    },
  },
  DamagedLogAccepted: {
    patterns: ['damaged log accepted, missing <n> event[s] by position and <n> event[s] by revision'],
    of: ({ positionsMissing, revisionsMissing }) => {
      const byPosition = `${counted(positionsMissing, 'event')} by position`
      return `damaged log accepted, missing ${byPosition} and ${counted(revisionsMissing, 'event')} by revision`
    },
  },
}

/** Summaries of changes to the access configuration. */
export const accessSummaries: Summaries<typeof accessEvents> = {
  AccessConfigured: {
    patterns: ['access configured: credentials (required|optional), <n> role[s], <n> rule[s]'],
    of: ({ required, roles, rules }) => {
      const counts = `${counted(Object.keys(roles).length, 'role')}, ${counted(rules.length, 'rule')}`
      return `access configured: credentials ${required ? 'required' : 'optional'}, ${counts}`
    },
  },
}

/** Summaries of the actions of instances, and of the cluster membership. */
export const instanceSummaries: Summaries<typeof instanceEvents & typeof membershipEvents> = {
  InstanceStarted: {
    patterns: [`${INSTANCE} started with version <version>`],
    of: (data) => `${instanceOf(data)} started with version ${plain(data.version)}`,
  },
  InstanceStopped: {
    patterns: [`${INSTANCE} stopped, cause (signal|error)`],
    of: (data) => `${instanceOf(data)} stopped, cause ${data.cause}`,
  },
  ReadModelsRebuilt: {
    patterns: [`${INSTANCE}: read models <names> rebuilt, cause <cause>[, <n> event[s] gone]`],
    of: (data) => {
      const { cause, eventsGone, readModels } = data
      const gone = eventsGone > 0 ? `, ${counted(eventsGone, 'event')} gone` : ''
      return `${instanceOf(data)}: read models ${joined(readModels.map(plain), 'and')} rebuilt, cause ${cause}${gone}`
    },
  },
  InstanceJoined: {
    patterns: [`${INSTANCE} joined the cluster with version <version>`],
    of: (data) => `${instanceOf(data)} joined the cluster with version ${plain(data.version)}`,
  },
  MembersProbed: {
    patterns: [`${INSTANCE} probed the other instances`],
    of: (data) => `${instanceOf(data)} probed the other instances`,
  },
  MemberResponded: {
    patterns: [`${INSTANCE} responded to a probe`],
    of: (data) => `${instanceOf(data)} responded to a probe`,
  },
  InstanceLeft: {
    patterns: [`${INSTANCE} left the cluster, cause (ended|silent)`],
    of: (data) => `${instanceOf(data)} left the cluster, cause ${data.cause}`,
  },
}
