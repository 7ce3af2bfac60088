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
