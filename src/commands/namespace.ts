import { refuse } from '../errors.ts'
import { changed, changes } from '../events/change.ts'
import { reader } from '../events/define.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import type { Decider } from './decider.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'

/** A claim whose flag was never seen is ignored once it is older than this: its writer is long gone (docs/decisions/0003). */
export const CLAIM_LIFE_MS = 60_000

export type NamespaceCommands = {
  CreateNamespace: {
    readonly key: string
    readonly incarnation: string
    readonly name: string
    readonly description: string
    readonly protected: boolean
  }
  UpdateNamespace: { readonly key: string; readonly name: string; readonly description: string }
  /** `stale` are the claims known to hold no flag. */
  DeleteNamespace: { readonly key: string; readonly force: boolean; readonly stale: ReadonlySet<string> }
  RegisterFlag: { readonly key: string; readonly flag: string; readonly claim: string; readonly claimedAt: string }
  UnregisterFlag: { readonly key: string; readonly claim: string }
}

export type Claim = { readonly flag: string; readonly claimedAt: string }
export type Namespace = {
  readonly incarnation: string | undefined
  /** Lives of the key so far, this one included: tells which of two incarnations is the later. */
  readonly generation: number
  readonly name: string
  readonly description: string
  readonly protected: boolean
  readonly claims: PersistentMap<Claim>
}

type Texts = Pick<Namespace, 'name' | 'description'>

const absent: Namespace = { incarnation: undefined, generation: 0, name: '', description: '', protected: false, claims: emptyMap() }
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
      incarnation === undefined ? [{ type: 'NamespaceCreated', data }] : refuse('not_unique', `namespace "${data.key}" is not unique`),

    UpdateNamespace: (state, { key, ...to }) => {
      if (state.incarnation === undefined) return missing(key)
      const found = changes<Texts>(state, to)
      return found ? [{ type: 'NamespaceUpdated', data: { key, ...found } }] : []
    },

    DeleteNamespace: ({ incarnation, claims, ...state }, { key, force, stale }) => {
      if (incarnation === undefined) return missing(key)
      if (state.protected) return refuse('protected', `namespace "${key}" is protected`)
      const empty = [...claims.keys()].every((claim) => stale.has(claim))
      if (!force && !empty) return refuse('not_empty', `namespace "${key}" cannot be deleted; flags must be deleted first`)
      return [{ type: 'NamespaceDeleted', data: { key, incarnation, force } }]
    },

    RegisterFlag: ({ incarnation, claims }, data) => {
      if (incarnation === undefined) return missing(data.key)
      return claims.has(data.claim) ? [] : [{ type: 'FlagRegistered', data }]
    },

    UnregisterFlag: ({ claims }, { key, claim }) => {
      const flag = claims.get(claim)?.flag
      return flag === undefined ? [] : [{ type: 'FlagUnregistered', data: { key, flag, claim } }]
    },
  },

  evolve: {
    NamespaceCreated: ({ generation }, { key: _key, ...data }) => ({ ...data, generation: generation + 1, claims: emptyMap() }),
    NamespaceUpdated: (state, { name, description }) => changed(state, { name, description }),
    NamespaceDeleted: ({ generation }) => ({ ...absent, generation }),
    FlagRegistered: (state, { flag, claim, claimedAt }) => ({ ...state, claims: state.claims.set(claim, { flag, claimedAt }) }),
    FlagUnregistered: (state, { claim }) => ({ ...state, claims: state.claims.delete(claim) }),
  },
}
