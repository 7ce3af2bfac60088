import { refuse } from '../../errors.ts'
import { changed, changes } from '../../events/change.ts'
import { type DataOf, reader } from '../../events/define.ts'
import { type FlagEvent, flagEvents } from '../../events/flag.ts'
import type { Decider } from '../decider.ts'
import { decideRollouts, evolveRollouts, type RolloutCommands } from './rollouts.ts'
import { decideRules, evolveRules, type RuleCommands } from './rules.ts'
import {
  absent,
  type Decide,
  type Evolve,
  type Flag,
  lives,
  naming,
  noFlag,
  type OfFlag,
  standing,
  usesOf,
} from './state.ts'
import { decideVariants, evolveVariants, type VariantCommands } from './variants.ts'
import { bounded, bytesOf } from '../size.ts'

type OwnCommands = {
  CreateFlag: DataOf<FlagEvent, 'FlagCreated'>
  /** `metadata` is kept when absent; `defaultVariantId` absent or empty = none. */
  UpdateFlag: OfFlag & {
    readonly name: string
    readonly description: string
    readonly enabled: boolean
    readonly defaultVariantId?: string | undefined
    readonly metadata?: Readonly<Record<string, unknown>> | undefined
  }
  DeleteFlag: OfFlag
  /** Gives a reservation up, unless the flag holds it. */
  VoidReservation: OfFlag & { readonly reservation: string }
}
export type FlagCommands = OwnCommands & VariantCommands & RuleCommands & RolloutCommands

/** True when the flag, or one of its parts, stands under this reservation. */
export const holds = (flag: Flag, reservation: string): boolean =>
  flag.reservation === reservation || usesOf(flag).some((use) => use.reservation === reservation)

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

const decide: Decide<FlagCommands> = { ...decideOwn, ...decideVariants, ...decideRules, ...decideRollouts }

/** A flag of another life of its namespace is no flag, to any command. */
const inLife = (table: Decide<FlagCommands>): Decide<FlagCommands> => {
  const wrapped = Object.entries(table).map(([name, decide]) => [
    name,
    (flag: Flag, command: OfFlag) => decide(lives(flag, command) ? flag : absent(flag), command as never),
  ])
  return Object.fromEntries(wrapped) as Decide<FlagCommands>
}

/** All but what is named, switched, shared out and put in order. */
const weight = ({ description, metadata, variants, rules, rollouts }: Flag): number => {
  const ruled = rules.map((rule) => ({
    ...rule,
    rank: 0,
    distributions: rule.distributions.map((part) => ({ ...part, rollout: 0 })),
  }))
  const rolledOut = rollouts.map((rollout) => ({ ...rollout, rank: 0, percentage: 0, value: true }))
  return bytesOf({ description, metadata, variants, ruled, rolledOut })
}

const whole: Decider<Flag, FlagCommands, FlagEvent> = {
  category: 'flag',
  shapes: flagEvents,
  read: reader(flagEvents),
  initial: absent({ generation: 0, voided: new Set() }),
  exists: lives,
  quiet: new Set(['ReservationVoided']),
  weight,
  // A reservation is held in whatever life: giving it up looks at the flag as it stands.
  decide: { ...inLife(decide), VoidReservation: decide.VoidReservation },
  evolve: { ...evolveOwn, ...evolveVariants, ...evolveRules, ...evolveRollouts },
}

/** One flag with its variants, rules and rollouts, whose rules of state are one (api.md §7.3 to §7.8). */
export const flag = bounded(whole, ({ voided: _voided, ...parts }) => parts)
