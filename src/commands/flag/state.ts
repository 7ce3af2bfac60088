import { refuse } from '../../errors.ts'
import type { DataOf } from '../../events/define.ts'
import type { Distribution, FlagEvent, Rollout, Rule, Use, Variant } from '../../events/flag.ts'

/** What every command on a flag names: the flag, and the life of the namespace that is meant. */
export type OfFlag = { readonly namespace: string; readonly key: string; readonly incarnation: string }

/** What a flag's rules of state need. Rules and rollouts are in rank order, variants and distributions in order of creation. */
export type Flag = {
  readonly incarnation: string | undefined
  readonly generation: number
  readonly reservation: string | undefined
  /** Reservations given up for ever, whatever becomes of the flag. */
  readonly voided: ReadonlySet<string>
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly metadata: Readonly<Record<string, unknown>>
  readonly defaultVariantId?: string
  readonly variants: readonly Variant[]
  readonly rules: readonly (Rule & { readonly distributions: readonly Distribution[] })[]
  readonly rollouts: readonly Rollout[]
}

/** No flag: what is left of the stream is the namespace's generation and the reservations given up. */
export const absent = ({ generation, voided }: Pick<Flag, 'generation' | 'voided'>): Flag => ({
  incarnation: undefined,
  generation,
  reservation: undefined,
  voided,
  name: '',
  description: '',
  enabled: false,
  metadata: {},
  variants: [],
  rules: [],
  rollouts: [],
})

export type Decide<C> = { readonly [K in keyof C]: (state: Flag, command: C[K]) => readonly FlagEvent[] }
export type Evolve<K extends FlagEvent['type']> = {
  readonly [T in K]: (state: Flag, data: DataOf<FlagEvent, T>) => Flag
}

/** True when the flag exists in the life of the namespace that the command means. */
export const lives = ({ incarnation }: Flag, command: OfFlag): boolean => incarnation === command.incarnation

/** Refuses: 404 with the flag's name. */
export const noFlag = ({ namespace, key }: OfFlag): never => refuse('not_found', `flag "${namespace}/${key}" not found`)

/** The three names that each event of a flag carries. */
export const naming = ({ namespace, key, incarnation }: OfFlag): OfFlag => ({ namespace, key, incarnation })

/** Every use that the flag's rules and rollouts make of segments. */
export const usesOf = ({ rules, rollouts }: Flag): readonly Use[] => [
  ...rules.flatMap(({ segments }) => segments),
  ...rollouts.flatMap((rollout) => (rollout.type === 'segment' ? rollout.segments : [])),
]

/** True when the flag, or one of its parts, stands under this reservation. */
export const holds = (flag: Flag, reservation: string): boolean =>
  flag.reservation === reservation || usesOf(flag).some((use) => use.reservation === reservation)

/** Refuses a reservation that was given up: its writer was away so long that others went on without it. */
export const standing = ({ voided }: Flag, reservation: string): string =>
  voided.has(reservation) ? refuse('write_conflict') : reservation

/**
 * The segments, each once and in the given order: under the reservation that the part holds already, else under the one brought along.
 * Refused with `write_conflict` when there is neither: the part was changed since the reservations were made.
 */
export const used = (
  flag: Flag,
  segments: readonly string[],
  held: readonly Use[],
  reservations: readonly Use[],
): Use[] =>
  [...new Set(segments)].map((segment) => {
    const same = (use: Use) => use.segment === segment
    const fresh = reservations.find(same)
    return (
      held.find(same) ??
      (fresh ? { segment, reservation: standing(flag, fresh.reservation) } : refuse('write_conflict'))
    )
  })
