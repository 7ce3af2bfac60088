import { isRefusal } from '../../base/errors.ts'
import { forEachSliced } from '../../base/event-loop.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { Live } from '../../projections/flag-memory/namespace-state.ts'
import type { FlagDoc } from '../../projections/flags.ts'
import { type NamespaceDoc, namespaces } from '../../projections/resource-model.ts'
import type { CommandServices } from '../services/commands.ts'
import type { FlagServices } from '../services/flags.ts'

const HOUR_MS = 3_600_000

type Recording = Pick<FlagServices, 'flagStore' | 'evaluations'> & Pick<CommandServices, 'now'>

/**
 * Id of a flag in the records of last evaluations. It names the creation of the flag, so a flag that is deleted and
 * created again has no record at first.
 */
export const flagUseId = ({ order }: Pick<FlagDoc, 'order'>): string => `flag ${order}`

/** Id of a namespace in the records of last snapshots; like that of a flag, it names the creation of the namespace. */
export const snapshotUseId = ({ key, incarnation }: Pick<NamespaceDoc, 'key' | 'incarnation'>): string =>
  `snapshot ${key} ${incarnation}`

/**
 * Records evaluations of flags and fetches of snapshots, each once per hour (docs/decisions/0030). No function waits for
 * a store or throws.
 */
export const lastEvaluations = ({ flagStore, evaluations, now }: Recording) => {
  /** Time in epoch ms until which the record of a row, or of all rows of a list, suffices. */
  const suffices = new WeakMap<object, number>()
  /** Calls `note` for a row or list unless its record suffices. Returns the time until which it suffices. */
  const hourly = (of: object, time: number, note: () => number): number => {
    const before = suffices.get(of) ?? 0
    if (time < before) return before
    const until = note()
    suffices.set(of, until)
    return until
  }
  const noteRow = (row: Live<FlagDoc>, time: number): number =>
    hourly(row, time, () => evaluations.note(flagUseId(row.doc), time))

  /** The row of a flag; undefined if there is none or it is unreadable. */
  const rowOf = (namespace: string, key: string): Live<FlagDoc> | undefined => {
    try {
      return flagStore.flag(namespace, key)
    } catch (error) {
      if (isRefusal(error, 'event_unreadable')) return undefined
      throw error
    }
  }

  const noteAll = async (rows: readonly Live<FlagDoc>[], time: number): Promise<void> =>
    forEachSliced(rows, (row) => noteRow(row, time))

  return {
    /**
     * Records the evaluation of a flag at a time in epoch ms, and returns the time until which this record suffices. A
     * flag of a past moment is never recorded.
     */
    evaluated: (flag: Compiled, namespace: string, time: number): number => {
      const row = rowOf(namespace, flag.key)
      const isPresent = row !== undefined && flagStore.compiled(namespace, flag.key) === flag
      return isPresent ? noteRow(row, time) : Number.POSITIVE_INFINITY
    },
    /** Records the evaluation of flags whose answers the client already has. */
    unchanged: (namespace: string, keys: readonly string[]): void => {
      const time = now().getTime()
      for (const key of keys) {
        const row = rowOf(namespace, key)
        if (row) noteRow(row, time)
      }
    },
    /** Like `unchanged`, for all flags of a namespace that have an answer, which `answering` returns. */
    allUnchanged: (namespace: string, answering: () => readonly Live<FlagDoc>[]): void => {
      const time = now().getTime()
      hourly(flagStore.flags(namespace), time, () => {
        void noteAll(answering(), time)
        return time - (time % HOUR_MS) + HOUR_MS
      })
    },
    /** Records the fetch of a snapshot of an existing namespace. */
    fetched: (key: string): void => {
      const [row, incarnation] = [flagStore.row(namespaces.name, key), flagStore.life(key)]
      if (!row || incarnation === undefined) return
      const time = now().getTime()
      hourly(row, time, () => evaluations.note(snapshotUseId({ key, incarnation }), time))
    },
  }
}

export type LastEvaluations = ReturnType<typeof lastEvaluations>
