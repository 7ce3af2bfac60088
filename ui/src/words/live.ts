import { counted, number } from './common.ts'

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
