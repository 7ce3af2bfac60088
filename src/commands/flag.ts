import { refuse } from '../errors.ts'
import { changed, changes } from '../events/change.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type FlagEvent, flagEvents } from '../events/flag.ts'
import type { Decider } from './decider.ts'
import { decideRollouts, evolveRollouts, type RolloutCommands } from './flag-rollouts.ts'
import { decideRules, evolveRules, type RuleCommands } from './flag-rules.ts'
import { absent, type Decide, type Evolve, type Flag, lives, naming, noFlag, type OfFlag, standing, usesOf } from './flag-state.ts'
import { decideVariants, evolveVariants, type VariantCommands } from './flag-variants.ts'
import { bounded, bytesOf } from './size.ts'

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
  /** Gives a claim up, unless the flag holds it. */
  VoidClaim: OfFlag & { readonly claim: string }
}
export type FlagCommands = OwnCommands & VariantCommands & RuleCommands & RolloutCommands

/** True when the flag, or one of its parts, stands under this claim. */
export const holds = (flag: Flag, claim: string): boolean => flag.claim === claim || usesOf(flag).some((use) => use.claim === claim)

const decideOwn: Decide<OwnCommands> = {
  CreateFlag: (flag, data) => {
    if (lives(flag, data)) return refuse('not_unique', `flag "${data.namespace}/${data.key}" is not unique`)
    if (data.generation < flag.generation) return refuse('not_found', `namespace "${data.namespace}" not found`)
    standing(flag, data.claim)
    return [{ type: 'FlagCreated', data }]
  },

  UpdateFlag: (flag, { name, description, enabled, metadata, defaultVariantId, ...of }) => {
    if (!lives(flag, of)) return noFlag(of)
    const [from, to] = [flag.defaultVariantId, defaultVariantId === '' ? undefined : defaultVariantId]
    if (to !== undefined && !flag.variants.some(({ id }) => id === to))
      return refuse('invalid_argument', `variant "${to}" not found for flag "${of.namespace}/${of.key}"`)
    const variant = from === to ? {} : { defaultVariantId: { ...(from !== undefined && { from }), ...(to !== undefined && { to }) } }
    const found = changes<Pick<Flag, 'name' | 'description' | 'enabled' | 'metadata'>>(flag, { name, description, enabled, metadata })
    return found || from !== to ? [{ type: 'FlagUpdated', data: { ...naming(of), ...found, ...variant } }] : []
  },

  DeleteFlag: (flag, of) => (lives(flag, of) ? [{ type: 'FlagDeleted', data: naming(of) }] : []),

  VoidClaim: (flag, { claim, ...of }) =>
    holds(flag, claim) || flag.voided.has(claim) ? [] : [{ type: 'ClaimVoided', data: { ...naming(of), claim } }],
}

const evolveOwn: Evolve<'FlagCreated' | 'FlagUpdated' | 'FlagDeleted' | 'ClaimVoided'> = {
  FlagCreated: (flag, { namespace: _namespace, key: _key, type: _type, ...data }) => ({ ...absent(flag), ...data }),
  FlagUpdated: (flag, data) => changed<Flag>(flag, data),
  FlagDeleted: absent,
  ClaimVoided: (flag, { claim }) => ({ ...flag, voided: new Set(flag.voided).add(claim) }),
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
  const ruled = rules.map((rule) => ({ ...rule, rank: 0, distributions: rule.distributions.map((part) => ({ ...part, rollout: 0 })) }))
  const rolledOut = rollouts.map((rollout) => ({ ...rollout, rank: 0, percentage: 0, value: true }))
  return bytesOf({ description, metadata, variants, ruled, rolledOut })
}

const whole: Decider<Flag, FlagCommands, FlagEvent> = {
  category: 'flag',
  shapes: flagEvents,
  read: reader(flagEvents),
  initial: absent({ generation: 0, voided: new Set() }),
  exists: lives,
  quiet: new Set(['ClaimVoided']),
  weight,
  // A claim is held in whatever life: giving it up looks at the flag as it stands.
  decide: { ...inLife(decide), VoidClaim: decide.VoidClaim },
  evolve: { ...evolveOwn, ...evolveVariants, ...evolveRules, ...evolveRollouts },
}

/** One flag with its variants, rules and rollouts, whose rules of state are one (api.md §7.3 to §7.8). */
export const flag = bounded(whole, ({ voided: _voided, ...parts }) => parts)
