import { counted, number } from './common.ts'

/** Texts of the density of events. */
export const density = {
  group: 'Density',
  summary: (total: number, refused: number, isExact: boolean, from: string, to: string) =>
    `${isExact ? '' : 'At least '}${counted(total, 'event', 'events')} from ${from} to ${to}, ${number(refused)} refused.`,
  none: 'No events in this range.',
  below: 'Below the line: refused.',
  begin: 'Begin of the range',
  end: 'End of the range',
  show: (from: string, to: string) => `Show ${from} – ${to}`,
  whole: 'Whole range',
  asTable: 'Show as table',
  hideTable: 'Hide table',
  table: 'Events by time',
  begins: (zone: string) => `Begins (${zone})`,
  events: 'Events',
  refused: 'Refused',
  things: 'numbers of events',
}

/** Texts of the live history. */
export const live = {
  live: 'Live',
  isNew: (n: number, isExact: boolean) =>
    isExact ? counted(n, 'new event', 'new events') : `More than ${number(n)} new events`,
  told: (n: number, isExact: boolean) => `${live.isNew(n, isExact)} since this page was loaded.`,
  starting: 'Connecting…',
  away: 'Not live. Trying again…',
  apart: 'Another tab follows other events. New events are counted here every 10 seconds.',
  insecure: 'Live needs HTTPS. New events are counted every 10 seconds.',
  refused: 'Not live. The service refused the connection.',
  'other-log': 'The service has another history now.',
  again: 'Load the history again',
}

/** Maximum result of a count of the API. */
const MOST = 10_000

export const history = {
  heading: 'History',
  things: 'events',
  list: 'Events',
  none: 'No events match',
  widen: 'Widen the range',
  newer: 'Newer',
  older: 'Older',
  newest: 'Show the newest events',
  /** Number of the events of a filter. */
  count: ({ value, exact }: { readonly value: number; readonly exact: boolean }): string =>
    exact && value <= MOST ? counted(value, 'event', 'events') : `more than ${number(MOST)}`,
  looked: (examined: number, found: number) =>
    `Looked through ${counted(examined, 'event', 'events')}, found ${number(found)}.`,
  goOn: 'Go on',
  goingOn: 'Looking…',
  quiet: 'Show quiet events',
  quietWhy: (hidden: number) =>
    `${hidden === 0 ? '' : `${counted(hidden, 'quiet event is', 'quiet events are')} hidden. `}Quiet events change nothing that a client sees.`,
  onlyQuiet: (events: number) => `All ${counted(events, 'event', 'events')} here are quiet.`,
  more: (events: number) => `${number(events)} more in this request`,
  sealed: 'Sealed',
  values: (from: string, to: string) => `${from} → ${to}`,
  outcomes: { denied: 'Denied', failed: 'Failed' },
  position: (position: string) => `#${position}`,
  elsewhere: (position: string) => `Event #${position} is not on this page.`,
  bounded: (namespace: string) =>
    `You see the history of the namespace ${namespace}, its flags and its segments. All other history needs audit.read in every namespace.`,
  otherPage: 'This page belongs to another list of events.',
  behind: 'The index of events is still catching up.',
  refresh: 'Refresh',
  noEvent: 'Event',
  event: 'event',
  notThere: (position: string) => `There is no event at position ${position}.`,
  toHistory: 'Go to the history',
}

export const eventWords = {
  facts: 'Event',
  time: (zone: string) => `Time (${zone})`,
  type: 'Type',
  actor: 'Actor',
  stream: 'Stream',
  outcome: 'Outcome',
  reason: 'Reason',
  noReason: 'No reason given',
  refusedAt: (zone: string) => `Refused at (${zone})`,
  token: 'Token of the request',
  right: 'Missing right',
  request: 'Request',
  correlation: 'Correlation',
  cause: 'Cause',
  command: 'Command',
  route: 'Route',
  instance: 'Instance',
  revision: 'Revision',
  changes: 'Changes',
  before: 'Before',
  after: 'After',
  whole: 'everything',
  added: 'Added',
  removed: 'Removed',
  changed: 'Changed',
  data: 'Data',
  meta: 'Metadata',
  json: 'Data and metadata as JSON',
  copyLink: 'Copy link',
  link: 'link',
  asOf: 'View as of this moment',
  justBefore: 'View as of just before',
  compare: 'Compare with…',
  inRequest: 'Everything in this request',
  prove: 'Prove this event',
  proveWhy: 'This command stores a proof. Anyone can check it with “rollcall verify-proof”, without this service.',
  proof: 'Download the proof',
  proofCommand: 'command',
  copyCommand: 'Copy command line',
  actorKinds: {
    anonymous: 'Nobody',
    system: 'Rollcall',
    operator: 'Operator',
  } as Readonly<Record<string, string>>,
}

export const personalWords = {
  heading: 'Personal data',
  states: { sealed: 'sealed', erased: 'erased', lost: 'lost', open: 'open' },
  erasedWhy: 'The key of this person was destroyed.',
  lostWhy: 'The key of this person is missing, destroyed or another one. The history has no erasure.',
  show: 'Show personal data',
  hide: 'Hide personal data',
  recorded: 'This is recorded with your name.',
  asking: 'Opening…',
  failed: 'The personal data were not opened',
}

export const goneWords = {
  deleted: (time: string, name: string) => `It was deleted ${time} by ${name}.`,
  asOf: 'View it as of then',
  history: 'Show its history',
}
