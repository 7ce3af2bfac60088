import { inPlace, Refusal } from '../../base/errors.ts'
import { forEachSliced } from '../../base/event-loop.ts'
import type { Rollout, Rule } from '../../events/flag.ts'
import { type ChangeCommands, decidedInOrder, type FlagChange, segmentsNamed } from './changes.ts'
import { noRolloutParent } from './rollouts.ts'
import { noRuleParent } from './rules.ts'
import { type Flag, lives, type OfFlag, usesOf } from './state.ts'

type ChangeRequest = Omit<ChangeCommands['ChangeFlag'], 'reservations'>

/** Commands that can make a rule or rollout use segments. */
type User = 'AddRule' | 'UpdateRule' | 'AddRollout' | 'UpdateRollout'
const isUser = (change: FlagChange): change is Extract<FlagChange, { readonly op: User }> =>
  /^(Add|Update)(Rule|Rollout)$/.test(change.op)

/** Segments that the rule or rollout does not use yet; empty if a rule or rollout to update is missing. */
export const newTo =
  (user: User, id: string, segments: readonly string[]) =>
  ({ rules, rollouts }: Flag): readonly string[] => {
    const parts: readonly (Rule | Rollout)[] = user.endsWith('Rule') ? rules : rollouts
    const part = parts.find((part) => part.id === id)
    const held = new Set(part && 'segments' in part ? part.segments.map((use) => use.segment) : [])
    return part || user.startsWith('Add') ? [...new Set(segments)].filter((segment) => !held.has(segment)) : []
  }

/**
 * Segments that need a reservation for these changes, in order of first use, up to the first change that is refused. To
 * find them, the function decides the changes with temporary reservations. It yields to the event loop if this takes
 * long.
 */
export const segmentsNeeded = async (flag: Flag, ask: ChangeRequest): Promise<readonly string[]> => {
  const named = new Set(ask.changes.flatMap(segmentsNamed))
  if (named.size === 0 || !lives(flag, ask)) return []
  const trial = Array.from(named, (segment) => ({ segment, reservation: `trial ${segment}` }))
  const reservations = new Set(trial.map(({ reservation }) => reservation))
  const needed = new Set<string>()
  const steps = decidedInOrder(flag, { ...ask, reservations: trial })
  let state = flag
  let decided = 0
  try {
    await forEachSliced(steps, (step) => {
      for (const use of usesOf(step.state)) if (reservations.has(use.reservation)) needed.add(use.segment)
      state = step.state
      decided++
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const change = ask.changes[decided]!
    for (const segment of isUser(change) ? newTo(change.op, change.id, segmentsNamed(change))(state) : [])
      needed.add(segment)
  }
  return [...needed]
}

/** Refuses the first change that names a missing segment, with the message of its own route. */
export const noSegmentOf =
  ({ changes }: ChangeRequest) =>
  (of: OfFlag, segment: string): never => {
    const n = changes.findIndex((change) => segmentsNamed(change).includes(segment))
    const missing = changes[n]?.op.endsWith('Rule') ? noRuleParent : noRolloutParent
    return inPlace(`changes[${n}]`, () => missing(of, segment))
  }
