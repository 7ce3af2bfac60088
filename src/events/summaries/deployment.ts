import type { accessEvents } from '../access.ts'
import type {
  erasureEvents,
  historyEvents,
  historyReadEvents,
  instanceEvents,
  keysEvents,
  ledgerEvents,
  membershipEvents,
} from '../deployment.ts'
import { counted, joined, plain, type Summaries } from './sentence.ts'

const instanceOf = ({ instance }: { readonly instance: string }) => `instance ${plain(instance)}`

/** Summaries of accepted losses of keys, and of erasures. */
export const keysSummaries: Summaries<typeof keysEvents & typeof erasureEvents> = {
  SubjectErasureRequested: ({ subject }) => `erasure of personal data of ${plain(subject)} requested`,
  SubjectErased: ({ subject }) => `personal data of ${plain(subject)} erased`,
  LostKeysAccepted: ({ tokens, subjects }) => {
    const lost = [...(tokens ? ['the pepper of tokens'] : []), ...(subjects ? ['the keys of subjects'] : [])]
    return `loss of ${joined(lost, 'and')} accepted`
  },
}

/** Summaries of accepted damage to the history, of its ledger, and of its reads. */
export const historySummaries: Summaries<typeof historyEvents & typeof historyReadEvents & typeof ledgerEvents> = {
  LedgerStarted: ({ ledger }) => `ledger ${plain(ledger)} started`,
  SigningKeyChanged: ({ ledger, compromised }) =>
    `signing key of ledger ${plain(ledger)} changed${compromised ? ', because it may be known to others' : ''}`,
  LedgerRestarted: ({ ledger }) => `ledger restarted as ${plain(ledger)}`,
  HistoryRead: ({ requests, events }) =>
    `history read by ${counted(requests, 'request')}, ${counted(events, 'event')} shown`,
  HistoryExported: ({ format, fromIndex, toIndex, personal }) => {
    const end = toIndex === undefined ? '' : ` to ${toIndex}`
    return `history exported as ${plain(format)}, from index ${fromIndex}${end}${personal ? ', with personal data' : ''}`
  },
  DamagedLogAccepted: ({ positionsMissing, revisionsMissing }) => {
    const byPosition = `${counted(positionsMissing, 'event')} by position`
    return `damaged log accepted, missing ${byPosition} and ${counted(revisionsMissing, 'event')} by revision`
  },
}

/** Summaries of changes to the access configuration. */
export const accessSummaries: Summaries<typeof accessEvents> = {
  AccessConfigured: ({ required, roles, rules }) => {
    const counts = `${counted(Object.keys(roles).length, 'role')}, ${counted(rules.length, 'rule')}`
    return `access configured: credentials ${required ? 'required' : 'optional'}, ${counts}`
  },
}

/** Summaries of the actions of instances, and of the cluster membership. */
export const instanceSummaries: Summaries<typeof instanceEvents & typeof membershipEvents> = {
  InstanceStarted: (data) => `${instanceOf(data)} started with version ${plain(data.version)}`,
  InstanceStopped: (data) => `${instanceOf(data)} stopped, cause ${data.cause}`,
  ReadModelsRebuilt: (data) => {
    const { cause, eventsGone, readModels } = data
    const gone = eventsGone > 0 ? `, ${counted(eventsGone, 'event')} gone` : ''
    return `${instanceOf(data)}: read models ${joined(readModels.map(plain), 'and')} rebuilt, cause ${cause}${gone}`
  },
  InstanceJoined: (data) => `${instanceOf(data)} joined the cluster with version ${plain(data.version)}`,
  MembersProbed: (data) => `${instanceOf(data)} probed the other instances`,
  MemberResponded: (data) => `${instanceOf(data)} responded to a probe`,
  InstanceLeft: (data) => `${instanceOf(data)} left the cluster, cause ${data.cause}`,
}
