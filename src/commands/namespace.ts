import { refuse } from '../base/errors.ts'
import { changed, changes } from '../events/change.ts'
import { reader } from '../events/define.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import type { Decider } from './decider.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'

/** Age in ms at which a reservation without a flag is stale, because its writer has given up (docs/decisions/0003). */
export const RESERVATION_LIFE_MS = 60_000

export type NamespaceCommands = {
  CreateNamespace: {
    readonly key: string
    readonly incarnation: string
    readonly name: string
    readonly description: string
    readonly protected: boolean
  }
  UpdateNamespace: { readonly key: string; readonly name: string; readonly description: string }
  /** `stale`: reservations that no flag uses or can ever use. */
  DeleteNamespace: { readonly key: string; readonly force: boolean; readonly stale: ReadonlySet<string> }
  RegisterFlag: {
    readonly key: string
    readonly flag: string
    readonly reservation: string
    readonly reservedAt: string
  }
  UnregisterFlag: { readonly key: string; readonly reservation: string }
}

export type Reservation = { readonly flag: string; readonly reservedAt: string }
type Namespace = {
  readonly incarnation: string | undefined
  /** Number of incarnations of the key, including this one. Orders two incarnations. */
  readonly generation: number
  readonly name: string
  readonly description: string
  readonly protected: boolean
  readonly reservations: PersistentMap<Reservation>
}

type Texts = Pick<Namespace, 'name' | 'description'>

const absent: Namespace = {
  incarnation: undefined,
  generation: 0,
  name: '',
  description: '',
  protected: false,
  reservations: emptyMap(),
}
const missing = (key: string) => refuse('not_found', `namespace "${key}" not found`)

export const namespace: Decider<Namespace, NamespaceCommands, NamespaceEvent> = {
  category: 'namespace',
  shapes: namespaceEvents,
  read: reader(namespaceEvents),
  initial: absent,
  exists: ({ incarnation }) => incarnation !== undefined,
  quiet: new Set(['FlagRegistered', 'FlagUnregistered']),

  decide: {
    CreateNamespace: ({ incarnation }, data) =>
      incarnation === undefined
        ? [{ type: 'NamespaceCreated', data }]
        : refuse('not_unique', `namespace "${data.key}" is not unique`),

    UpdateNamespace: (state, { key, ...to }) => {
      if (state.incarnation === undefined) return missing(key)
      const found = changes<Texts>(state, to)
      return found ? [{ type: 'NamespaceUpdated', data: { key, ...found } }] : []
    },

    DeleteNamespace: ({ incarnation, reservations, ...state }, { key, force, stale }) => {
      if (incarnation === undefined) return missing(key)
      if (state.protected) return refuse('protected', `namespace "${key}" is protected`)
      if (!force && !reservations.every((reservation) => stale.has(reservation)))
        return refuse('not_empty', `namespace "${key}" cannot be deleted; flags must be deleted first`)
      return [{ type: 'NamespaceDeleted', data: { key, incarnation, force } }]
    },

    RegisterFlag: ({ incarnation, reservations }, data) => {
      if (incarnation === undefined) return missing(data.key)
      return reservations.has(data.reservation) ? [] : [{ type: 'FlagRegistered', data }]
    },

    UnregisterFlag: ({ reservations }, { key, reservation }) => {
      const flag = reservations.get(reservation)?.flag
      return flag === undefined ? [] : [{ type: 'FlagUnregistered', data: { key, flag, reservation } }]
    },
  },

  evolve: {
    NamespaceCreated: ({ generation }, { key: _key, ...data }) => ({
      ...data,
      generation: generation + 1,
      reservations: emptyMap(),
    }),
    NamespaceUpdated: (state, { name, description }) => changed(state, { name, description }),
    NamespaceDeleted: ({ generation }) => ({ ...absent, generation }),
    FlagRegistered: (state, { flag, reservation, reservedAt }) => ({
      ...state,
      reservations: state.reservations.set(reservation, { flag, reservedAt }),
    }),
    FlagUnregistered: (state, { reservation }) => ({ ...state, reservations: state.reservations.delete(reservation) }),
  },
}
