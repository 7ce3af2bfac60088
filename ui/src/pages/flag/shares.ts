import type { Draft } from './draft.ts'

/** A part of all entities, in percent, and what they get. */
export type Portion = {
  readonly size: number
  readonly value: boolean
  /** It is what no share gives. */
  readonly rest: boolean
  /** Entities of segments may get another answer. */
  readonly depends: boolean
}

/** What shares of the entities get, in order: an entity is at the same place in every share, so a later one gives what it has beyond those before it. */
export const portionsOf = ({ rollouts, enabled }: Pick<Draft, 'rollouts' | 'enabled'>): readonly Portion[] => {
  const portions: Portion[] = []
  let [given, depends] = [0, false]
  for (const { kind, percentage, value } of rollouts) {
    if (kind === 'segment') depends = true
    const until = kind === 'threshold' ? Math.min(100, Number(percentage) || 0) : 0
    if (until > given) {
      portions.push({ size: until - given, value, rest: false, depends })
      given = until
    }
  }
  if (given < 100) portions.push({ size: 100 - given, value: enabled, rest: true, depends })
  return portions
}
