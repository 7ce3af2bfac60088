import { type BooleanEvaluation, reasonNames, type VariantEvaluation } from '../../contract/evaluation.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { BooleanAnswer, Reason, VariantAnswer } from '../../evaluation/evaluate.ts'
import { membersOf } from '../wire/pieces.ts'
import type { Cell, HistogramCell, Metrics } from '../operations/metrics.ts'

/** One thing that a flag says: how often it was said, and the members of the JSON answer that are the same each time, with and without its segments. */
export type CachedAnswer = { readonly count: Cell; readonly json: string; readonly unnamed: () => string }

/** What is counted of one flag, and all that it has said since it was compiled. */
export type FlagCounters = {
  readonly asked: Cell
  readonly refused: Cell
  readonly latency: HistogramCell
  readonly boolean: (answer: BooleanAnswer) => CachedAnswer
  readonly variant: (answer: VariantAnswer) => CachedAnswer
}

/** Different things said by one flag that are remembered; further ones are put together each time. */
const REMEMBERED = 256

type Unchanging<E extends BooleanEvaluation | VariantEvaluation> = Omit<
  E,
  'requestId' | 'requestDurationMillis' | 'timestamp' | 'trace'
>

const membersFor = <E extends BooleanEvaluation | VariantEvaluation>(said: Unchanging<E>) => {
  const json = membersOf(said)
  let unnamed = said.segmentKeys.length === 0 ? json : undefined
  return { json, unnamed: () => (unnamed ??= membersOf({ ...said, segmentKeys: [] })) }
}

const countersOf = ({ type, key }: Compiled, namespace: string, metrics: Metrics): FlagCounters => {
  const said = new Map<string, CachedAnswer>()
  const counter = (match: boolean, reason: Reason, segmentKeys: readonly string[], value: string): Cell =>
    metrics.evaluationResults(namespace, key, type, String(match), reasonNames[reason], segmentKeys.join(','), value)
  const remembered = (name: string, make: () => CachedAnswer): CachedAnswer => {
    const known = said.get(name)
    if (known) return known
    const told = make()
    if (said.size < REMEMBERED) said.set(name, told)
    return told
  }
  /** The last thing said for each outcome: the keys of one segment are always the same list. */
  const last: { keys: readonly string[]; told: CachedAnswer }[] = []

  return {
    asked: metrics.evaluations(namespace, key),
    refused: metrics.evaluationErrors(namespace, key),
    latency: metrics.evaluationLatency(namespace, key),
    boolean: ({ enabled, reason, segmentKeys }) => {
      const outcome = (enabled ? 1 : 0) + (reason === 'match' ? 2 : 0)
      const before = last[outcome]
      if (before !== undefined && before.keys === segmentKeys) return before.told
      const told = remembered([outcome, ...segmentKeys].join('\0'), () => ({
        count: counter(reason === 'match', reason, segmentKeys, String(enabled)),
        ...membersFor<BooleanEvaluation>({ enabled, reason: reasonNames[reason], flagKey: key, segmentKeys }),
      }))
      last[outcome] = { keys: segmentKeys, told }
      return told
    },
    variant: ({ match, reason, segmentKeys, variantKey, variantAttachment }) =>
      remembered([match, reason, variantKey, ...segmentKeys].join('\0'), () => ({
        count: counter(match, reason, segmentKeys, variantKey),
        ...membersFor<VariantEvaluation>({
          match,
          segmentKeys,
          reason: reasonNames[reason],
          variantKey,
          variantAttachment,
          flagKey: key,
        }),
      })),
  }
}

/** The tallies of compiled flags (api.md §11.1). An evaluation pays additions; what names the flag is put together once. */
export const flagCounters = (metrics: Metrics) => {
  const known = new WeakMap<Compiled, FlagCounters>()
  return (flag: Compiled, namespace: string): FlagCounters => {
    let tally = known.get(flag)
    if (!tally) {
      tally = countersOf(flag, namespace, metrics)
      known.set(flag, tally)
    }
    return tally
  }
}
