import type { Clock } from '../../base/clock.ts'
import { isRefusal, refuse } from '../../base/errors.ts'
import { flagTypes } from '../../contract/readers/fields.ts'
import type { BooleanFlag, Compiled, VariantFlag } from '../../evaluation/compile.ts'
import {
  type BooleanAnswer,
  evaluateBoolean,
  evaluateVariant,
  type Failure,
  type VariantAnswer,
} from '../../evaluation/evaluate.ts'
import type { Context } from '../../evaluation/flag.ts'
import type { Work } from '../../evaluation/segment.ts'
import type { Trace } from '../../evaluation/trace.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { CommandServices } from '../services/commands.ts'
import { type CachedAnswer, type FlagCounters, flagCounters } from './answer-cache.ts'
import type { LastEvaluations } from './last-evaluations.ts'

/** Formats times as RFC 3339 UTC text with milliseconds, at most once per millisecond. */
const timeFormat = (): ((date: Date) => string) => {
  let last = Number.NaN
  let text = ''
  return (date) => {
    const time = date.getTime()
    if (time === last) return text
    last = time
    text = date.toISOString()
    return text
  }
}

/**
 * Milliseconds since a reading of `monotonic`, rounded to the microsecond because further digits have no use.
 */
export const since = (monotonic: Clock['monotonic'], start: number): number =>
  Math.round((monotonic() - start) * 1e3) / 1e3

/**
 * The evaluated entity; its id may be empty. The tried steps are appended to `trace`, if given. `work` limits the work
 * of one request.
 */
type Asking = {
  readonly entityId: string
  readonly context: Context
  readonly trace?: Trace | undefined
  readonly work?: Work
}

/** Source of flags: memory for the present, the log for a snapshot as of a moment. */
export type Flags = { readonly compiled: (namespace: string, key: string) => Compiled | undefined }

/** Answer of a flag, the constant fields of its JSON form, the time of the evaluation as text, and its duration in ms. */
type Said<A> = {
  readonly answer: A
  readonly cached: CachedAnswer
  readonly timestamp: string
  readonly millis: number
}

/** Time of an evaluation, and its monotonic time in ms. */
type Begun = { readonly time: Date; readonly start: number }

/** Refusal with the message of §7.8 for an unknown flag. */
const noFlag = (namespace: string, key: string): never => refuse('not_found', `flag "${namespace}/${key}" not found`)

/**
 * Counts requests without an evaluable flag. A key that names no flag is not used as a label, because the client
 * chooses it.
 */
const unknownFlags = (metrics: Metrics) => {
  const [asked, refused] = [metrics.evaluations('', ''), metrics.evaluationErrors('', '')]
  return (): void => {
    asked.value++
    refused.value++
  }
}

/** Counts and refuses an evaluation that fails. */
const failed = (tally: FlagCounters, { error }: Failure): never => {
  tally.refused.value++
  return refuse('invalid_argument', error)
}

/** Finds flags by key, and counts the requests without an evaluable flag. */
const lookups = (metrics: Metrics) => {
  const countUnknown = unknownFlags(metrics)
  /** The flag with this key, if it exists. Refuses an unreadable flag. */
  const look = (flags: Flags, namespace: string, key: string): Compiled | undefined => {
    let flag: Compiled | undefined
    try {
      flag = flags.compiled(namespace, key)
    } catch (error) {
      countUnknown()
      throw error
    }
    if (!flag) countUnknown()
    return flag
  }

  return {
    look,
    /**
     * Like `look`, but returns `closed` for an unreadable flag, so that one unreadable flag does not fail a whole
     * batch.
     */
    lookOrClosed: (flags: Flags, namespace: string, key: string): Compiled | 'closed' | undefined => {
      try {
        return look(flags, namespace, key)
      } catch (error) {
        if (!isRefusal(error, 'event_unreadable')) throw error
        return 'closed'
      }
    },
    /** Returns the flag with this key; refuses an unknown key with 404. */
    find: (flags: Flags, namespace: string, key: string): Compiled =>
      look(flags, namespace, key) ?? noFlag(namespace, key),
  }
}

/**
 * Evaluates flags, counts the results (api.md §8, §11.1), and records the last evaluation of each flag. Refuses an
 * unknown flag with 404, and a flag of the wrong type with 400.
 */
export const evaluator = (
  metrics: Metrics,
  { clock: { monotonic }, now }: Pick<CommandServices, 'clock' | 'now'>,
  { evaluated }: Pick<LastEvaluations, 'evaluated'>,
) => {
  const tallyOf = flagCounters(metrics)
  const textOf = timeFormat()

  /**
   * Records the evaluation of a flag, at most once an hour, and returns the present time. Explained evaluations are
   * trials and are not recorded.
   */
  const noted = (tally: FlagCounters, flag: Compiled, namespace: string, trace?: Trace): Date => {
    const date = now()
    const time = date.getTime()
    if (time >= tally.notedUntil && trace === undefined) tally.notedUntil = evaluated(flag, namespace, time)
    return date
  }

  const counted = <A>(tally: FlagCounters, begun: Begun, answer: A, cached: CachedAnswer): Said<A> => {
    cached.count.value++
    const [millis, timestamp] = [since(monotonic, begun.start), textOf(begun.time)]
    tally.latency.observe(millis)
    return { answer, cached: cached, timestamp, millis }
  }

  const boolean = (
    flag: BooleanFlag,
    namespace: string,
    { entityId, context, trace, work }: Asking,
  ): Said<BooleanAnswer> => {
    const tally = tallyOf(flag, namespace)
    const begun = { time: noted(tally, flag, namespace, trace), start: monotonic() }
    tally.asked.value++
    const answer = evaluateBoolean(flag, entityId, context, trace, work)
    return 'error' in answer ? failed(tally, answer) : counted(tally, begun, answer, tally.boolean(answer))
  }

  const variant = (
    flag: VariantFlag,
    namespace: string,
    { entityId, context, trace, work }: Asking,
  ): Said<VariantAnswer> => {
    const tally = tallyOf(flag, namespace)
    const begun = { time: noted(tally, flag, namespace, trace), start: monotonic() }
    tally.asked.value++
    const answer = evaluateVariant(flag, entityId, context, trace, work)
    return 'error' in answer ? failed(tally, answer) : counted(tally, begun, answer, tally.variant(answer))
  }

  const otherType = (flag: Compiled, namespace: string, { trace }: Asking): never => {
    const tally = tallyOf(flag, namespace)
    noted(tally, flag, namespace, trace)
    tally.asked.value++
    tally.refused.value++
    return refuse('wrong_flag_type', `flag type ${flagTypes.wire[flag.type]} invalid`)
  }

  return {
    ...lookups(metrics),
    /** Records the evaluation of a flag that cannot be evaluated because the request lacks an entity. */
    note: (flag: Compiled, namespace: string): void => void noted(tallyOf(flag, namespace), flag, namespace),
    boolean: (flag: Compiled, namespace: string, asking: Asking): Said<BooleanAnswer> =>
      flag.type === 'boolean' ? boolean(flag, namespace, asking) : otherType(flag, namespace, asking),
    variant: (flag: Compiled, namespace: string, asking: Asking): Said<VariantAnswer> =>
      flag.type === 'variant' ? variant(flag, namespace, asking) : otherType(flag, namespace, asking),
  }
}

export type Evaluator = ReturnType<typeof evaluator>
