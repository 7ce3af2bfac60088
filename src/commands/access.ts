import { canonical } from '../base/canonical.ts'
import { type AccessEvent, accessEvents } from '../events/access.ts'
import { type DataOf, reader } from '../events/define.ts'
import type { Decider } from './decider.ts'

type Configured = DataOf<AccessEvent, 'AccessConfigured'>
type AccessCommands = { ConfigureAccess: Configured }

/** Id of the only stream. */
export const ACCESS = 'main'

/**
 * Number of events in the stream, and the last recorded access configuration; undefined if its event cannot be read.
 */
type AccessState = { readonly events: number; readonly last?: Configured }

const byName = (one: { readonly name: string }, other: { readonly name: string }) => (one.name < other.name ? -1 : 1)

/** Canonical text of a configuration. Independent of the order of rules and of the service version. */
const textOf = ({ version: _version, rules, ...rest }: Configured): string =>
  canonical({ ...rest, rules: rules.toSorted(byName) })

/**
 * Decider of the access configuration, which each instance records at its start if it differs from the last recorded
 * one. Works even if a newer version of the service wrote events of unknown types to the stream.
 */
export const access: Decider<AccessState, AccessCommands, AccessEvent> = {
  category: 'access',
  shapes: accessEvents,
  read: reader(accessEvents),
  initial: { events: 0 },
  exists: ({ events }) => events > 0,
  unread: { commands: new Set(['ConfigureAccess']), state: ({ events }) => ({ events: events + 1 }) },
  decide: {
    ConfigureAccess: ({ last }, data) =>
      last && textOf(last) === textOf(data) ? [] : [{ type: 'AccessConfigured', data }],
  },
  evolve: { AccessConfigured: ({ events }, last) => ({ events: events + 1, last }) },
}
