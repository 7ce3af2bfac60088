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

/** Who is asked about: an empty entity is an entity. The steps tried are added to `trace`, if one is given; `work`: what one request may do in all. */
type Asking = {
  readonly entityId: string
  readonly context: Context
  readonly trace?: Trace | undefined
  readonly work?: Work
}

/** Where flags are found: memory for the present, the log for another time. */
export type Flags = { readonly compiled: (namespace: string, key: string) => Compiled | undefined }

/** What a flag said, the members of its JSON answer that do not change from request to request, and how long it took. */
type Said<A> = { readonly answer: A; readonly cached: CachedAnswer; readonly millis: number }

/** The message of §7.8 for a flag that is not there. */
const noFlag = (namespace: string, key: string): never => refuse('not_found', `flag "${namespace}/${key}" not found`)

/** Counts and refuses an evaluation that fails. */
const failed = (tally: FlagCounters, { error }: Failure): never => {
  tally.refused.value++
  return refuse('invalid_argument', error)
}

/** Asks flags and keeps count of it (api.md §8, §11.1). Refuses as `/evaluate/v1` does: 404 for a flag that is not there, 400 for one of the other type. */
export const evaluator = (metrics: Metrics, { monotonic }: Clock) => {
  const tallyOf = flagCounters(metrics)
  /** Counts of what no flag can be asked about. A key that names no flag is the client's word, and no label. */
  const [askedInVain, refused] = [metrics.evaluations('', ''), metrics.evaluationErrors('', '')]
  const inVain = () => {
    askedInVain.value++
    refused.value++
  }

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

  /** The flag, if there is one. Refuses one that cannot be read. */
  const look = (flags: Flags, namespace: string, key: string): Compiled | undefined => {
    let flag: Compiled | undefined
    try {
      flag = flags.compiled(namespace, key)
    } catch (error) {
      inVain()
      throw error
    }
    if (!flag) inVain()
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
    /** The same where one flag that cannot be read must not fail the others. */
    lookOrClosed: (flags: Flags, namespace: string, key: string): Compiled | 'closed' | undefined => {
      try {
        return look(flags, namespace, key)
      } catch (error) {
        if (!isRefusal(error, 'event_unreadable')) throw error
        return 'closed'
      }
    },
    /** The flag, or 404. */
    find: (flags: Flags, namespace: string, key: string): Compiled =>
      look(flags, namespace, key) ?? noFlag(namespace, key),
    boolean: (flag: Compiled, namespace: string, asking: Asking): Said<BooleanAnswer> =>
      flag.type === 'boolean' ? boolean(flag, namespace, asking) : otherType(flag, namespace),
    variant: (flag: Compiled, namespace: string, asking: Asking): Said<VariantAnswer> =>
      flag.type === 'variant' ? variant(flag, namespace, asking) : otherType(flag, namespace),
  }
}

export type Evaluator = ReturnType<typeof evaluator>
