import { refuse } from '../../base/errors.ts'
import { changed, changes, replaced, without } from '../../events/change.ts'
import type { DataOf } from '../../events/define.ts'
import type { FlagEvent, Variant } from '../../events/flag.ts'
import type { Decider } from '../decider.ts'
import { decideRollouts, evolveRollouts, type RolloutCommands } from './rollouts.ts'
import { decideRules, evolveRules, type RuleCommands } from './rules.ts'
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

type VariantCommands = {
  AddVariant: OfFlag & { readonly variant: Variant }
  UpdateVariant: OfFlag & { readonly variant: Variant }
  RemoveVariant: OfFlag & { readonly id: string }
}

const unique = ({ variants }: Flag, { id, key }: Variant, of: OfFlag): void => {
  if (variants.some((other) => other.key === key && other.id !== id))
    refuse('not_unique', `variant "${key}" is not unique for flag "${of.namespace}/${of.key}"`)
}

const decideVariants: Decide<VariantCommands> = {
  AddVariant: (flag, { variant, ...of }) => {
    if (!lives(flag, of)) return noFlag(of)
    unique(flag, variant, of)
    return flag.variants.some(({ id }) => id === variant.id)
      ? []
      : [{ type: 'VariantAdded', data: { ...naming(of), variant } }]
  },

  UpdateVariant: (flag, { variant, ...of }) => {
    const present = flag.variants.find(({ id }) => id === variant.id)
    if (!present) return refuse('not_found', `variant "${variant.id}" not found`)
    unique(flag, variant, of)
    const found = changes<Omit<Variant, 'id'>>(present, variant)
    return found ? [{ type: 'VariantUpdated', data: { ...naming(of), variant: { id: variant.id, ...found } } }] : []
  },

  RemoveVariant: ({ variants, rules, defaultVariantId }, { id, ...of }) => {
    if (!variants.some((variant) => variant.id === id)) return []
    const distributions = rules.flatMap((rule) =>
      rule.distributions
        .filter(({ variantId }) => variantId === id)
        .map((part) => ({ rule: rule.id, distribution: part.id })),
    )
    return [
      {
        type: 'VariantRemoved',
        data: { ...naming(of), variant: id, wasDefault: defaultVariantId === id, distributions },
      },
    ]
  },
}

const evolveVariants: Evolve<'VariantAdded' | 'VariantUpdated' | 'VariantRemoved'> = {
  VariantAdded: (flag, { variant }) => ({ ...flag, variants: [...flag.variants, variant] }),
  VariantUpdated: (flag, { variant }) => ({
    ...flag,
    variants: replaced(flag.variants, variant.id, (part) => changed(part, variant)),
  }),
  VariantRemoved: ({ defaultVariantId, ...flag }, { variant }) => ({
    ...flag,
    ...(defaultVariantId === undefined || defaultVariantId === variant ? {} : { defaultVariantId }),
    variants: without(flag.variants, variant),
    rules: flag.rules.map((rule) => ({
      ...rule,
      distributions: rule.distributions.filter(({ variantId }) => variantId !== variant),
    })),
  }),
}

type OwnCommands = {
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

const decideOwn: Decide<OwnCommands> = {
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

const evolveOwn: Evolve<'FlagCreated' | 'FlagUpdated' | 'FlagDeleted' | 'ReservationVoided'> = {
  FlagCreated: (flag, { namespace: _namespace, key: _key, type: _type, ...data }) => ({ ...absent(flag), ...data }),
  FlagUpdated: (flag, data) => changed<Flag>(flag, data),
  FlagDeleted: absent,
  ReservationVoided: (flag, { reservation }) => ({ ...flag, voided: new Set(flag.voided).add(reservation) }),
}

/** Commands with a single change. */
export type SingleCommands = OwnCommands & VariantCommands & RuleCommands & RolloutCommands

export const decideSingle: Decide<SingleCommands> = {
  ...decideOwn,
  ...decideVariants,
  ...decideRules,
  ...decideRollouts,
}

export const evolveSingle: Decider<Flag, SingleCommands, FlagEvent>['evolve'] = {
  ...evolveOwn,
  ...evolveVariants,
  ...evolveRules,
  ...evolveRollouts,
}

/** Applies one event. */
export const evolveFlag = (flag: Flag, { type, data }: FlagEvent): Flag => evolveSingle[type](flag, data as never)
