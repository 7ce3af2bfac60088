export const palette = {
  open: 'Search',
  keys: 'Ctrl K',
  title: 'Command palette',
  field: 'Type a command or search',
  results: 'Results',
  nothing: 'Nothing found',
  goTo: 'Go to',
  tokens: 'Tokens',
  actions: 'Actions',
  help: 'Enter goes there. Ctrl Enter opens a new tab.',
}
