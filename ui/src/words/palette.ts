import { shownKeys } from './keys.ts'

export const palette = {
  open: 'Search',
  title: 'Command palette',
  field: 'Type a command or search',
  results: 'Results',
  nothing: 'Nothing found',
  searching: 'Searching…',
  failed: 'The service could not be searched.',
  goTo: 'Go to',
  flags: 'Flags',
  segments: 'Segments',
  tokens: 'Tokens',
  actions: 'Actions',
  help: `Enter goes there. ${shownKeys('Control+Enter')} opens a new tab.`,
}
