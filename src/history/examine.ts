import { timeSlicer } from '../event-loop.ts'
import type { Bitmap } from './event-index/bitmap.ts'
import { partsOf, type Sources, stepsOfPart } from './event-index/steps.ts'
import type { IndexedEvent } from './facts.ts'
import { type EventFilter, eventFilter } from './filter.ts'
import type { Span } from './spans.ts'

type Examination = {
  /** Maximum number of events examined that the index does not decide. */
  readonly most: number
  /** Takes the events of a segment that the index decides. Returns false to have them examined. */
  readonly decided: (segment: number, bits: Bitmap) => boolean | Promise<boolean>
  /** Takes an examined event that passes. */
  readonly take: (event: IndexedEvent) => void
  /** True if further events change nothing. */
  readonly isEnough?: () => boolean
}

/** Goes through the events of a span that pass a filter. Returns false if it ends before the end of the span. */
export const examine = async (
  sources: Sources,
  filter: EventFilter,
  span: Span,
  { most, decided, take, isEnough = () => false }: Examination,
): Promise<boolean> => {
  const passes = eventFilter(filter)
  const pause = timeSlicer()
  let examined = 0
  for await (const part of partsOf(sources, sources.search.by(filter), span)) {
    if (!(part.bits && part.isExact && (await decided(part.segment, part.bits))))
      for await (const steps of stepsOfPart(sources, passes, part, span))
        for (const { event } of steps) {
          if (examined++ === most) return false
          if (event) take(event)
          if (isEnough()) return false
          const paused = pause()
          if (paused) await paused
        }
    if (isEnough()) return false
    const paused = pause()
    if (paused) await paused
  }
  sources.signal.throwIfAborted()
  return true
}
