import { counted, number } from './common.ts'

export const sessions = {
  thing: 'session',
  notFound: 'Session',
  things: 'sessions',
  heading: 'Sessions',
  table: 'Sessions',
  search: 'Search sessions',
  searchHint: 'Account begins with',
  unsearched:
    'The data of people is encrypted, so the search does not find their logins. Choose a method to list its logins.',
  whole:
    'The data of people is encrypted, so the search does not apply to logins. The list shows all logins of this method.',
  method: 'Method',
  allMethods: 'All methods',
  columns: {
    who: 'Who',
    how: 'How',
    status: 'Status',
    created: (zone: string) => `Created (${zone})`,
    createdLabel: 'Created',
    ends: 'Ends',
    seen: 'Last seen',
    actions: 'Actions',
  },
  you: 'This is you',
  erased: 'Personal data erased',
  lost: 'Personal data lost',
  none: 'No sessions yet',
  noneWhy:
    'A session begins when a person signs in through a provider or the code host, or a service account exchanges its token.',
  noMatch: 'No sessions match',
  facts: 'Session',
  ended: 'Ended',
  id: 'Id',
  metadata: 'Metadata',
  noMetadata: 'It has no metadata.',

  endOne: (name: string) => `End session of ${name}`,
  endAll: (name: string) => `End all sessions of ${name}`,
  noHolder: 'The person was erased, so their sessions cannot be found together: end each session separately.',
  end: {
    title: (name: string) => `End the session of ${name}?`,
    allTitle: (n: number | undefined, name: string) => {
      if (n === 1) return `End the session of ${name}?`
      return n === undefined ? `End all sessions of ${name}?` : `End all ${number(n)} sessions of ${name}?`
    },
    why: (name: string) => `${name} is signed out at once.`,
    own: 'This is your own session: you will be signed out.',
    submit: 'End session',
    submitAll: 'End all sessions',
    sending: 'Ending…',
    done: (name: string) => `The session of ${name} has ended.`,
    allDone: (n: number, name: string) => `${counted(n, 'session', 'sessions')} of ${name} ended.`,
    failed: 'The session was not ended',
    allFailed: 'The sessions were not ended',
  },
}
