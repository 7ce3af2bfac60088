import { counted, joined, plain, type Summaries } from './sentence.ts'

const instanceOf = ({ instance }: { readonly instance: string }) => `instance ${plain(instance)}`

/** Summaries of the events of the keys, the history, the access configuration and the instances of a deployment. */
export const deploymentSummaries: Summaries<'keys' | 'history' | 'access' | 'instance'> = {
  keys: {
    SubjectErasureRequested: ({ subject }) => `erasure of personal data of ${plain(subject)} requested`,
    SubjectErased: ({ subject }) => `personal data of ${plain(subject)} erased`,
    LostKeysAccepted: ({ tokens, subjects }) => {
      const lost = [...(tokens ? ['the pepper of tokens'] : []), ...(subjects ? ['the keys of subjects'] : [])]
      return `loss of ${joined(lost, 'and')} accepted`
    },
  },
  history: {
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
  },
  access: {
    AccessConfigured: ({ required, roles, rules }) => {
      const counts = `${counted(Object.keys(roles).length, 'role')}, ${counted(rules.length, 'rule')}`
      return `access configured: credentials ${required ? 'required' : 'optional'}, ${counts}`
    },
  },
  instance: {
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
  },
}
