import { publishable } from '../../access/reach.ts'
import type { TokenEntry } from '../../projections/token-memory/token-index.ts'
import type { Cell } from '../metrics/metrics.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { Caller } from '../wire/caller.ts'

/** Caller of a token, by the form of its credential, and the data that its requests share. */
export type KnownCaller = {
  readonly bearer: Caller
  readonly cookie: Caller
  readonly allowed: Cell
  /** True for a publishable token, which unknown clients may use. */
  readonly published: boolean
  /** Time in epoch ms until which the last recorded use suffices. */
  notedUntil: number
}

/** Returns a function that creates the caller of a token. */
export const callerOf =
  (allowedBy: (method: string) => Cell) =>
  ({ id, method, reach }: TokenEntry): KnownCaller => {
    const published = publishable(reach)
    const caller = { actor: { kind: 'token', id, method }, reach, published } as const
    return {
      bearer: { ...caller, via: 'bearer' },
      cookie: { ...caller, via: 'cookie' },
      allowed: allowedBy(method),
      published,
      notedUntil: 0,
    }
  }

/** Counters of allowed requests by method, looked up once per method. */
export const allowedCells = ({ metrics }: Pick<InstanceServices, 'metrics'>) => {
  const cells = new Map<string, Cell>()
  return (method: string): Cell => {
    let cell = cells.get(method)
    if (!cell) cells.set(method, (cell = metrics.authDecisions('allowed', '', method)))
    return cell
  }
}
