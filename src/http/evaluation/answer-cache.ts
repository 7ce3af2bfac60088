import { type BooleanEvaluation, reasonNames, type VariantEvaluation } from '../../contract/evaluation.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { BooleanAnswer, Reason, VariantAnswer } from '../../evaluation/evaluate.ts'
import type { Cell, HistogramCell, Metrics } from '../metrics/metrics.ts'
import { membersOf } from '../wire/pieces.ts'

/**
 * One possible answer of a flag: its counter, and the constant fields of the JSON answer, with and without its
 * segments.
 */
export type CachedAnswer = { readonly count: Cell; readonly json: () => string; readonly unnamed: () => string }

/** Counters of one flag, and its answers since it was compiled. */
export type FlagCounters = {
  readonly asked: Cell
  readonly refused: Cell
  readonly latency: HistogramCell
  /** Time in epoch ms until which the last evaluation of the flag is recorded. */
  notedUntil: number
  readonly boolean: (answer: BooleanAnswer) => CachedAnswer
  readonly variant: (answer: VariantAnswer) => CachedAnswer
}

/** Maximum number of cached answers for each flag. An answer that is not cached is serialized for each request. */
const REMEMBERED = 256
/** Maximum UTF-16 units of the cached answers of all flags together; then all are created again. */
const TOGETHER = 64 * 1_048_576
/** A longer attachment (in characters) is serialized once per variant, not in each cached answer. */
const LONG = 1024

type Said<E extends BooleanEvaluation | VariantEvaluation> = Omit<
  E,
  'requestId' | 'requestDurationMillis' | 'timestamp' | 'trace'
>
type Members = Pick<CachedAnswer, 'json' | 'unnamed'>
/** Members of an answer that stays cached. `size`: length of their text, without a long attachment. */
type Cached = Members & { readonly size: number }

const membersFor = (body: Said<BooleanEvaluation> | Said<VariantEvaluation>): Cached => {
  const json = membersOf(body)
  let unnamed = body.segmentKeys.length === 0 ? json : undefined
  return { size: json.length, json: () => json, unnamed: () => (unnamed ??= membersOf({ ...body, segmentKeys: [] })) }
}

/** Fields of an answer that is not cached; serialized when sent. */
const membersAnew = (body: Said<BooleanEvaluation> | Said<VariantEvaluation>): Members => ({
  json: () => membersOf(body),
  unnamed: () => membersOf({ ...body, segmentKeys: [] }),
})

/** Fields of an answer whose attachment is serialized already. */
const membersAround = ({ variantAttachment: _plain, ...body }: Said<VariantEvaluation>, attachment: string): Cached => {
  const { size, json, unnamed } = membersFor(body as Said<VariantEvaluation>)
  const member = `,"variantAttachment":${attachment}`
  return { size, json: () => json() + member, unnamed: () => unnamed() + member }
}

/** `hold` counts the length of a text that stays cached. */
const countersOf = (
  { type, key }: Compiled,
  namespace: string,
  metrics: Metrics,
  hold: (length: number) => void,
): FlagCounters => {
  const known = new Map<string, CachedAnswer>()
  const attachments = new Map<string, string>()
  const counter = (match: boolean, reason: Reason, segmentKeys: readonly string[], value: string): Cell =>
    metrics.evaluationResults(namespace, key, type, String(match), reasonNames[reason], segmentKeys.join(','), value)
  const attachmentOf = ({ variantKey, variantAttachment }: Said<VariantEvaluation>): string => {
    const before = attachments.get(variantKey)
    const json = before ?? JSON.stringify(variantAttachment)
    if (before === undefined) hold(json.length)
    attachments.set(variantKey, json)
    return json
  }
  const remembered = <S extends Said<BooleanEvaluation> | Said<VariantEvaluation>>(
    name: string,
    made: () => readonly [count: Cell, body: S],
    members: (body: S) => Cached,
  ): CachedAnswer => {
    const before = known.get(name)
    if (before) return before
    const [count, body] = made()
    if (known.size >= REMEMBERED) return { count, ...membersAnew(body) }
    const { size, json, unnamed } = members(body)
    const cached = { count, json, unnamed }
    known.set(name, cached)
    // An answer has one or two texts.
    hold(name.length + 2 * size)
    return cached
  }
  /**
   * The last answer per outcome. The list is compared by reference only, because the keys of one segment are always the
   * same list.
   */
  const last: { keys: readonly string[]; cached: CachedAnswer }[] = []

  return {
    asked: metrics.evaluations(namespace, key),
    refused: metrics.evaluationErrors(namespace, key),
    latency: metrics.evaluationLatency(namespace, key),
    notedUntil: 0,
    boolean: ({ enabled, reason, segmentKeys }) => {
      const outcome = (enabled ? 1 : 0) + (reason === 'match' ? 2 : 0)
      const before = last[outcome]
      if (before !== undefined && before.keys === segmentKeys) return before.cached
      const cached = remembered<Said<BooleanEvaluation>>(
        [outcome, ...segmentKeys].join('\0'),
        () => [
          counter(reason === 'match', reason, segmentKeys, String(enabled)),
          { enabled, reason: reasonNames[reason], flagKey: key, segmentKeys },
        ],
        membersFor,
      )
      last[outcome] = { keys: segmentKeys, cached: cached }
      return cached
    },
    variant: ({ match, reason, segmentKeys, variantKey, variantAttachment }) =>
      remembered<Said<VariantEvaluation>>(
        [match, reason, variantKey, ...segmentKeys].join('\0'),
        () => [
          counter(match, reason, segmentKeys, variantKey),
          { match, segmentKeys, reason: reasonNames[reason], variantKey, variantAttachment, flagKey: key },
        ],
        (body) => (variantAttachment.length > LONG ? membersAround(body, attachmentOf(body)) : membersFor(body)),
      ),
  }
}

/** Counters of compiled flags (api.md §11.1). An evaluation costs only additions; labels are built once per flag. */
export const flagCounters = (metrics: Metrics, most = TOGETHER) => {
  let [known, held] = [new WeakMap<Compiled, FlagCounters>(), 0]
  const hold = (length: number): void => {
    held += length
  }
  return (flag: Compiled, namespace: string): FlagCounters => {
    if (held > most) [known, held] = [new WeakMap(), 0]
    let tally = known.get(flag)
    if (!tally) {
      tally = countersOf(flag, namespace, metrics, hold)
      known.set(flag, tally)
    }
    return tally
  }
}
