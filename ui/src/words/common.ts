import { shownKeys } from './keys.ts'

/** Memoizes a formatter, because creating one is expensive. */
export const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => (made ??= make())
}

const plurals = once(() => new Intl.PluralRules('en'))
const numbers = once(() => new Intl.NumberFormat('en'))
const comma = once(() => new Intl.ListFormat('en', { type: 'unit', style: 'short' }))

export const number = (n: number): string => numbers().format(n)

/** Formats a count: `1 change`, `2 changes`. */
export const counted = (n: number, one: string, many: string): string =>
  `${number(n)} ${plurals().select(n) === 'one' ? one : many}`

/** Formats a list: `a, b, c`. */
export const list = (items: readonly string[]): string => comma().format(items)

/** Joins the local and the UTC text of an instant; one text if they are equal. */
export const inBothZones = (local: string, utc: string): string =>
  local === utc ? `${utc} UTC` : `${local} · ${utc} UTC`

export const common = {
  product: 'Rollcall',
  skip: 'Skip to content',
  tryAgain: 'Try again',
  tryAgainIn: (seconds: number) => `Try again in ${counted(seconds, 'second', 'seconds')}`,
  cancel: 'Cancel',
  close: 'Close',
  unchanged: (n: number) => `${number(n)} unchanged`,
  copy: 'Copy',
  shortcut: (keys: string) => `Shortcut: ${shownKeys(keys)}`,
  stay: 'Stay',
  leave: 'Leave',
  reload: 'Reload',
  reason: 'Reason',
  reasonHint: 'Kept in the history and never erased: write no personal data here. Optional.',
  reasonRequired: 'Kept in the history and never erased: write no personal data here. Required.',
  reasonMissing: 'Give a reason.',
  copied: 'Copied.',
  notCopied: (thing: string) => `Not copied. The ${thing} is selected: press Ctrl+C.`,
  request: (id: string) => `Request ${id}`,
  copyRequest: 'Copy request id',
  requestId: 'request id',
  pages: 'Pages',
  previousPage: 'Previous page',
  nextPage: 'Next page',
  never: 'Never',
  notKnown: 'Not known',
  entered: 'Entered',
  emptyValue: '(empty text)',
  remove: (value: string) => `Remove ${value}`,
  today: 'today',
  by: (name: string) => `by ${name}`,
  loading: 'Loading…',
  stillLoading: 'Still loading…',
  loadingCancelled: 'Loading was cancelled.',
  clearSearch: 'Clear search',
  clearFilters: 'Clear filters',
  catchingUp: 'Saved. The lists are still catching up.',
  refresh: 'Refresh',
}

/** Formats a right and its place. */
export const rightWords = (right: string, namespaceKey: string | undefined) => {
  if (namespaceKey === undefined) return right
  return namespaceKey === '*' ? `${right} in every namespace` : `${right} in ${namespaceKey}`
}

export const states = {
  notLoaded: (things: string) => `The ${things} could not be loaded`,
  noMatch: (things: string) => `No ${things} match`,
  offline: 'The service cannot be reached. What you see may be old.',
  offlineWhy: 'The service cannot be reached.',
  stale: 'The service is checking itself and answers again in a moment.',
  limited: (seconds: number) => `Too many requests. Try again in ${seconds} s.`,
  noPage: 'No such page',
  goToFlags: 'Go to flags',
  noNamespace: (key: string, past: boolean) =>
    past ? `There was no namespace ${key} at this moment.` : `There is no namespace ${key}.`,
  goToNamespaces: 'Go to namespaces',
  notFound: (thing: string) => `${thing} not found`,
  notThere: (thing: string, key: string, namespace?: string) =>
    namespace === undefined ? `There is no ${thing} ${key} now.` : `There is no ${thing} ${key} in ${namespace} now.`,
  forbidden: 'You may not see this',
  needs: ({ right, namespaceKey }: { readonly right: string; readonly namespaceKey?: string | undefined }) =>
    `It needs ${rightWords(right, namespaceKey)}.`,
  missing: ({ right, namespaceKey }: { readonly right: string; readonly namespaceKey?: string | undefined }) =>
    `Needs ${rightWords(right, namespaceKey)}.`,
  tellAdministrator: 'Copy a message to an administrator',
  messageToAdministrator: 'message to an administrator',
  pleaseGive: (who: string, right: string, namespaceKey: string | undefined, address: string, time: string) =>
    `Please give ${who} ${rightWords(right, namespaceKey)}. I tried ${address} at ${time}.`,
  broken: 'Something in this page broke',
  reloadPage: 'Reload the page',
  readOnly: 'Read-only',
  readOnlyWhy: 'This instance is read-only.',
  openAccess: 'Open access',
  openAccessWhy: 'Everybody who reaches this address may do everything. Set authentication.required.',
  updated: 'Rollcall was updated. Reload when you are done here.',
  nothingSaved: 'Nothing was saved',
  unknownOutcome: 'The service could not be reached. It is not known whether this was done. Trying again is safe.',
  nothingChanged: 'Nothing changed: it was so already.',
}

export const fields = {
  name: 'Name',
  key: 'Key',
  keyHint: 'Programs use this key. It never changes.',
  description: 'Description',
  none: 'None',
  created: 'Created',
  changed: 'Changed',
  nameEmpty: (thing: string) => `Give the ${thing} a name.`,
  keyEmpty: (thing: string) => `Give the ${thing} a key.`,
  keyBad: 'Use letters, digits, “-”, “_” and “,” only.',
  keyTaken: 'This key is taken in this namespace.',
  tooLong: (most: number, has: number) => `At most ${number(most)} characters; this has ${number(has)}.`,
  expiryMissing: 'Choose a date and time.',
  expiryPast: 'Choose a moment in the future.',
  namespaceMissing: 'Choose a namespace.',
  tokenEmpty: 'Paste a client token.',
  percentage: 'Enter a number from 0 to 100.',
}
