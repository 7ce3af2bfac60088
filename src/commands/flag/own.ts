import { refuse } from '../../base/errors.ts'
import { changed, changes } from '../../events/change.ts'
import type { DataOf } from '../../events/define.ts'
import type { FlagEvent } from '../../events/flag.ts'
import {
  absent,
  type Decide,
  type Evolve,
  type Flag,
  holds,
  lives,
  naming,
  noFlag,
  type OfFlag,
  standing,
} from './state.ts'

export type OwnCommands = {
  CreateFlag: DataOf<FlagEvent, 'FlagCreated'>
  /**
   * If `metadata` is absent, the present metadata stay unchanged. An absent or empty `defaultVariantId` removes the
   * default variant.
   */
  UpdateFlag: OfFlag & {
    readonly name: string
    readonly description: string
    readonly enabled: boolean
    readonly defaultVariantId?: string | undefined
    readonly metadata?: Readonly<Record<string, unknown>> | undefined
  }
  DeleteFlag: OfFlag
  /** Voids a reservation, unless the flag uses it. */
  VoidReservation: OfFlag & { readonly reservation: string }
}

export const decideOwn: Decide<OwnCommands> = {
  CreateFlag: (flag, data) => {
    if (lives(flag, data)) return refuse('not_unique', `flag "${data.namespace}/${data.key}" is not unique`)
    if (data.generation < flag.generation) return refuse('not_found', `namespace "${data.namespace}" not found`)
    standing(flag, data.reservation)
    return [{ type: 'FlagCreated', data }]
  },

  UpdateFlag: (flag, { name, description, enabled, metadata, defaultVariantId, ...of }) => {
    if (!lives(flag, of)) return noFlag(of)
    const [from, to] = [flag.defaultVariantId, defaultVariantId === '' ? undefined : defaultVariantId]
    if (to !== undefined && !flag.variants.some(({ id }) => id === to))
      return refuse('invalid_argument', `variant "${to}" not found for flag "${of.namespace}/${of.key}"`)
    const variant =
      from === to ? {} : { defaultVariantId: { ...(from !== undefined && { from }), ...(to !== undefined && { to }) } }
    const found = changes<Pick<Flag, 'name' | 'description' | 'enabled' | 'metadata'>>(flag, {
      name,
      description,
      enabled,
      metadata,
    })
    return found || from !== to ? [{ type: 'FlagUpdated', data: { ...naming(of), ...found, ...variant } }] : []
  },

  DeleteFlag: (flag, of) => (lives(flag, of) ? [{ type: 'FlagDeleted', data: naming(of) }] : []),

  VoidReservation: (flag, { reservation, ...of }) =>
    holds(flag, reservation) || flag.voided.has(reservation)
      ? []
      : [{ type: 'ReservationVoided', data: { ...naming(of), reservation } }],
}

export const evolveOwn: Evolve<'FlagCreated' | 'FlagUpdated' | 'FlagDeleted' | 'ReservationVoided'> = {
  FlagCreated: (flag, { namespace: _namespace, key: _key, type: _type, ...data }) => ({ ...absent(flag), ...data }),
  FlagUpdated: (flag, data) => changed<Flag>(flag, data),
  FlagDeleted: absent,
  ReservationVoided: (flag, { reservation }) => ({ ...flag, voided: new Set(flag.voided).add(reservation) }),
}
