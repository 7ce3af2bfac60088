import { publishable } from '../../access/reach.ts'
import type { TokenEntry } from '../../projections/token-memory/token-index.ts'
import type { Cell } from '../operations/metrics.ts'
import type { RecordingServices } from '../services/recording.ts'
import type { Caller } from '../wire/caller.ts'

type Known = {
  readonly bearer: Caller
  readonly cookie: Caller
  readonly allowed: Cell
  /** True for a publishable token, which any client may hold. */
  readonly published: boolean
  /** The hour in which a use was last recorded. */
  usedIn: number
}

/** Callers by token, created once per token. */
export const callersByToken = (allowedBy: (method: string) => Cell) => {
  const callers = new WeakMap<TokenEntry, Known>()
  return (entry: TokenEntry): Known => {
    let known = callers.get(entry)
    if (!known) {
      const { id, method, reach } = entry
      const actor = { kind: 'token', id, method } as const
      const published = publishable(reach)
      const caller = { actor, reach, published }
      known = {
        bearer: { ...caller, via: 'bearer' },
        cookie: { ...caller, via: 'cookie' },
        allowed: allowedBy(method),
        published,
        usedIn: 0,
      }
      callers.set(entry, known)
    }
    return known
  }
}

/** Counters of allowed requests by method, looked up once per method. */
export const allowedCells = ({ metrics }: RecordingServices) => {
  const cells = new Map<string, Cell>()
  return (method: string): Cell => {
    let cell = cells.get(method)
    if (!cell) cells.set(method, (cell = metrics.authDecisions('allowed', '', method)))
    return cell
  }
}
