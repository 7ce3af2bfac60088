import type { Clock } from '../../clock.ts'
import { flagTypes } from '../../contract/enums.ts'
import { isRefusal, refuse } from '../../errors.ts'
import type { BooleanFlag, Compiled, VariantFlag } from '../../evaluation/compile.ts'
import type { Context } from '../../evaluation/context.ts'
import {
  type BooleanAnswer,
  evaluateBoolean,
  evaluateVariant,
  type Failure,
  type VariantAnswer,
} from '../../evaluation/evaluate.ts'
import type { Work } from '../../evaluation/segment.ts'
import type { Trace } from '../../evaluation/trace.ts'
import type { Metrics } from '../operations/metrics.ts'
import { since } from '../wire/clock.ts'
import { type CachedAnswer, type FlagCounters, flagCounters } from './answer-cache.ts'

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

/** Answer of a flag, the constant fields of its JSON form, and the evaluation time in ms. */
type Said<A> = { readonly answer: A; readonly cached: CachedAnswer; readonly millis: number }

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

/**
 * Evaluates flags and counts the results (api.md §8, §11.1). Refuses an unknown flag with 404, and a flag of the wrong
 * type with 400.
 */
export const evaluator = (metrics: Metrics, { monotonic }: Clock) => {
  const tallyOf = flagCounters(metrics)
  const countUnknown = unknownFlags(metrics)

  const counted = <A>(tally: FlagCounters, start: number, answer: A, cached: CachedAnswer): Said<A> => {
    cached.count.value++
    const millis = since(monotonic, start)
    tally.latency.observe(millis)
    return { answer, cached: cached, millis }
  }

  const boolean = (
    flag: BooleanFlag,
    namespace: string,
    { entityId, context, trace, work }: Asking,
  ): Said<BooleanAnswer> => {
    const tally = tallyOf(flag, namespace)
    const start = monotonic()
    tally.asked.value++
    const answer = evaluateBoolean(flag, entityId, context, trace, work)
    return 'error' in answer ? failed(tally, answer) : counted(tally, start, answer, tally.boolean(answer))
  }

  const variant = (
    flag: VariantFlag,
    namespace: string,
    { entityId, context, trace, work }: Asking,
  ): Said<VariantAnswer> => {
    const tally = tallyOf(flag, namespace)
    const start = monotonic()
    tally.asked.value++
    const answer = evaluateVariant(flag, entityId, context, trace, work)
    return 'error' in answer ? failed(tally, answer) : counted(tally, start, answer, tally.variant(answer))
  }

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

  const otherType = (flag: Compiled, namespace: string): never => {
    const tally = tallyOf(flag, namespace)
    tally.asked.value++
    tally.refused.value++
    return refuse('wrong_flag_type', `flag type ${flagTypes.wire[flag.type]} invalid`)
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
    boolean: (flag: Compiled, namespace: string, asking: Asking): Said<BooleanAnswer> =>
      flag.type === 'boolean' ? boolean(flag, namespace, asking) : otherType(flag, namespace),
    variant: (flag: Compiled, namespace: string, asking: Asking): Said<VariantAnswer> =>
      flag.type === 'variant' ? variant(flag, namespace, asking) : otherType(flag, namespace),
  }
}

export type Evaluator = ReturnType<typeof evaluator>
