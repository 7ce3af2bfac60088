import { isFailure } from '../../api/failure.ts'
import { type Loaded, readFlag } from '../../api/flags.ts'
import { readSegment } from '../../api/segments.ts'
import type { Merged } from '../../parts/editing/editing.ts'
import { isImprecise } from '../../parts/fields/json-flaw.ts'
import { flags } from '../../words/flags.ts'
import { restore } from '../../words/restore.ts'
import type { Source } from './copied.ts'
import { type BySegments, type Draft, draftOf } from './draft.ts'
import { withVariants } from './merge.ts'
import { rolloutSentence, ruleSentence } from './sentences.ts'

/** Past state of a flag, and the keys of its segments that do not exist now. */
type PastFlag = { readonly past: Loaded; readonly gone: ReadonlySet<string> }

const segmentsOf = ({ rollouts, rules }: Draft): ReadonlySet<string> =>
  new Set([...rollouts, ...rules].flatMap(({ segments }) => segments))

const isGone = async (namespace: string, key: string, signal: AbortSignal): Promise<boolean> => {
  try {
    await readSegment(namespace, key, undefined, signal)
    return false
  } catch (error) {
    if (!isFailure(error)) throw error
    // A user who may not read the segment can still save; the service refuses a segment that does not exist.
    if (error.status === 403) return false
    if (error.status === 404) return true
    throw error
  }
}

/** Reads another state of a flag, and looks up the segments that it uses and the flag does not use now. */
const readState = async (now: Loaded, past: Loaded, signal: AbortSignal): Promise<PastFlag> => {
  const { namespaceKey } = now.flag
  const used = segmentsOf(draftOf(now))
  const others = [...segmentsOf(draftOf(past))].filter((segment) => !used.has(segment))
  const found = await Promise.all(others.map((segment) => isGone(namespaceKey, segment, signal)))
  return { past, gone: new Set(others.filter((_, n) => found[n])) }
}

/** Reads the state of a flag at a moment. */
export const readPastFlag = async (now: Loaded, moment: string, signal: AbortSignal): Promise<PastFlag> =>
  readState(now, await readFlag(now.flag.namespaceKey, now.flag.key, moment, signal), signal)

/** Reads the flag `source` whose state is copied to the flag `now`. */
export const readCopiedFlag = async (now: Loaded, source: Source, signal: AbortSignal): Promise<PastFlag> =>
  readState(now, await readFlag(source.namespace, source.key, undefined, signal), signal)

/**
 * Draft that brings back a past state of a flag. A part with a segment that does not exist stays as it is now, or is
 * left out. A part whose id does not exist any more is created under a new one.
 */
export const fittedFlag = (present: Loaded, { past, gone }: PastFlag): Merged<Draft> => {
  const [now, then] = [draftOf(present), draftOf(past)]
  const precise = ![present, past].some(({ flag }) => isImprecise(flag.metadata))
  const about = {
    name: then.name,
    description: then.description,
    metadata: precise ? then.metadata : now.metadata,
  }
  const lost = precise ? [] : [restore.metadata]
  if (now.boolean !== then.boolean)
    return {
      draft: { ...now, ...about },
      left: [...lost, restore.otherType(flags.typeOf(past.flag.type))],
    }
  const fits = ({ segments }: BySegments) => !segments.some((key) => gone.has(key))
  const fitting = <P extends BySegments & { readonly id: string }>(was: readonly P[], is: readonly P[]) =>
    was.flatMap((part) => (fits(part) ? [part] : is.filter(({ id }) => id === part.id)))
  return {
    draft: {
      ...then,
      ...about,
      rollouts: fitting(then.rollouts, now.rollouts),
      rules: fitting(then.rules, now.rules).map((rule) => withVariants(rule, then.variants)),
    },
    left: [
      ...lost,
      ...then.rollouts.filter((part) => !fits(part)).map(rolloutSentence),
      ...then.rules.filter((part) => !fits(part)).map((rule) => ruleSentence(rule, then.variants)),
    ],
  }
}
