import { type AccessEvent, accessEvents } from '../events/access.ts'
import { canonical } from '../events/canonical.ts'
import { type DataOf, reader } from '../events/define.ts'
import type { Decider } from './decider.ts'

type Configured = DataOf<AccessEvent, 'AccessConfigured'>
export type AccessCommands = { ConfigureAccess: Configured }

/** Its one stream. */
export const ACCESS = 'main'

/** How many events there are, and what the last of them says; undefined where it cannot be read. */
export type AccessState = { readonly events: number; readonly last?: Configured }

const byName = (one: { readonly name: string }, other: { readonly name: string }) => (one.name < other.name ? -1 : 1)

/** A configuration as text: the same for any order of rules, and for any version that understands it so. */
const textOf = ({ version: _version, rules, ...rest }: Configured): string =>
  canonical({ ...rest, rules: rules.toSorted(byName) })

/** Which access is configured, from start to start. One that differs from the last is told, whatever a newer version has written there. */
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
