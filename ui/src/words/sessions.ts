import { counted, number } from './common.ts'

export const sessions = {
  thing: 'session',
  notFound: 'Session',
  things: 'sessions',
  heading: 'Sessions',
  table: 'Sessions',
  search: 'Search sessions',
  searchHint: 'Account begins with',
  unsearched: 'What is known of people is sealed: logins are not found by it. Choose a method to list them.',
  whole: 'What is known of people is sealed: logins are not searched, and all of this method are listed.',
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
  noHolder: 'Its holder was erased: end each session separately.',
  end: {
    title: (name: string) => `End the session of ${name}?`,
    allTitle: (n: number | undefined, name: string) => {
      if (n === 1) return `End the session of ${name}?`
      return n === undefined ? `End all sessions of ${name}?` : `End all ${number(n)} sessions of ${name}?`
    },
    why: (name: string) => `${name} is signed out at once.`,
    own: 'This is you: you will be signed out.',
    submit: 'End session',
    submitAll: 'End all sessions',
    sending: 'Ending…',
    done: (name: string) => `The session of ${name} has ended.`,
    allDone: (n: number, name: string) => `${counted(n, 'session', 'sessions')} of ${name} ended.`,
    failed: 'The session was not ended',
    allFailed: 'The sessions were not ended',
  },
}
