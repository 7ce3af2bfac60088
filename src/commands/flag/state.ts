import { refuse } from '../../base/errors.ts'
import type { DataOf } from '../../events/define.ts'
import type { Distribution, FlagEvent, Rollout, Rule, Use, Variant } from '../../events/flag.ts'

/** Addresses a flag in one incarnation of its namespace. */
export type OfFlag = { readonly namespace: string; readonly key: string; readonly incarnation: string }

/**
 * State of a flag that commands need. Rules and rollouts are in the order of their ranks, variants and distributions in
 * the order of their creation.
 */
export type Flag = {
  readonly incarnation: string | undefined
  readonly generation: number
  readonly reservation: string | undefined
  /** Voided reservations. Voided reservations stay voided even if the flag is deleted or created again. */
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

/** State of a flag that does not exist. Keeps the generation of the namespace and the voided reservations. */
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

/** Returns true if the flag exists in the incarnation of the namespace that the command addresses. */
export const lives = ({ incarnation }: Flag, command: OfFlag): boolean => incarnation === command.incarnation

/** Refuses with 404 and the flag's name. */
export const noFlag = ({ namespace, key }: OfFlag): never => refuse('not_found', `flag "${namespace}/${key}" not found`)

/** The three fields that identify the flag in each of its events. */
export const naming = ({ namespace, key, incarnation }: OfFlag): OfFlag => ({ namespace, key, incarnation })

/** All uses of segments by the flag's rules and rollouts. */
export const usesOf = ({ rules, rollouts }: Flag): readonly Use[] => [
  ...rules.flatMap(({ segments }) => segments),
  ...rollouts.flatMap((rollout) => (rollout.type === 'segment' ? rollout.segments : [])),
]

/** Returns true if the flag or one of its parts uses the reservation. */
export const holds = (flag: Flag, reservation: string): boolean =>
  flag.reservation === reservation || usesOf(flag).some((use) => use.reservation === reservation)

/** Returns the reservation. Refuses a voided reservation, because its writer took too long. */
export const standing = ({ voided }: Flag, reservation: string): string =>
  voided.has(reservation) ? refuse('write_conflict') : reservation

/**
 * Uses of the segments, without duplicates, in the given order. Each use has the reservation that the rule or rollout
 * already holds for the segment, or one of the new reservations. Refuses with `write_conflict` if a segment has no
 * reservation, because then the rule or rollout was changed after the reservations were made.
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
