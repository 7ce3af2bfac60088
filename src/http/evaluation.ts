import { type Compiled, compileFlag } from '../evaluation/compile.ts'
import type { FlagInput, RolloutInput } from '../evaluation/flag.ts'
import { compileSegment, type Segment } from '../evaluation/segment.ts'
import type { Compile } from '../projections/catalog.ts'
import type { FlagDoc, RolloutDoc } from '../projections/flags.ts'
import type { SegmentDoc } from '../projections/segments.ts'

const rolloutInput = (rollout: RolloutDoc): RolloutInput => {
  const { id, rank, value } = rollout
  if (rollout.type === 'threshold') return { id, rank, type: 'threshold', threshold: { percentage: rollout.percentage, value } }
  return { id, rank, type: 'segment', segment: { segments: rollout.segments, operator: rollout.operator, value } }
}

const flagInput = (doc: FlagDoc): FlagInput => ({ ...doc, rollouts: doc.rollouts.map(rolloutInput) })

const segmentsOf = ({ rules, rollouts }: FlagDoc): Set<string> =>
  new Set([...rules, ...rollouts].flatMap((part) => ('segments' in part ? part.segments : [])))

/** Compiles flag documents for evaluation; a segment is read once, however many flags name it. */
export const compiler = (): Compile<Compiled> => {
  const read = new WeakMap<SegmentDoc, Segment>()
  const segmentOf = (doc: SegmentDoc): Segment => {
    const ready = read.get(doc) ?? compileSegment(doc)
    read.set(doc, ready)
    return ready
  }
  return (flag, segment) => {
    const known = new Map<string, Segment>()
    for (const key of segmentsOf(flag)) {
      const doc = segment(key)
      if (doc) known.set(key, segmentOf(doc))
    }
    return compileFlag(flagInput(flag), known)
  }
}
