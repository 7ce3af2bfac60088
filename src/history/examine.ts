import { timeSlicer } from '../base/event-loop.ts'
import type { Bitmap } from './event-index/bitmap.ts'
import { partsOf, type Sources, stepsOfPart } from './event-index/steps.ts'
import type { IndexedEvent } from './facts.ts'
import { type EventFilter, eventFilter } from './filter.ts'
import type { Span } from './spans.ts'

type Examination = {
  /** Maximum number of examined events that the index cannot decide. */
  readonly most: number
  /** Receives the events of a segment whose result follows from the index alone. Returns false if each event must be read. */
  readonly decided: (segment: number, bits: Bitmap) => boolean | Promise<boolean>
  /** Receives an examined event that passes the filter. */
  readonly take: (event: IndexedEvent) => void
  /** True if further events cannot change the result. */
  readonly isEnough?: () => boolean
}

/**
 * Goes through the events of a range of the log that pass a filter. Returns false if it ends before the end of the
 * range of the log.
 */
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
