import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { isFailure } from '../api/failure.ts'
import type { Direction } from '../api/step.ts'
import { useAt, useGoTo } from '../at.ts'
import { useEventScope } from '../open-thing.ts'
import { messageOf } from '../parts/feedback/alert.tsx'
import { past } from '../words/past.ts'

/**
 * Returns a function that shows the state after the previous or next event of the open page. `wrong` is the sentence of
 * a step that found no event or failed.
 */
export const useStep = () => {
  const at = useAt()
  const goTo = useGoTo()
  const scope = useEventScope()
  const client = useQueryClient()
  const [looking, setLooking] = useState(false)
  const [missed, setMissed] = useState<{ readonly at: string | undefined; readonly words: string } | undefined>()
  const found = async (direction: Direction): Promise<string | undefined> => {
    try {
      const { atRest, readStep } = await import('../api/step.ts')
      await atRest(client)
      const position = await readStep(direction, at, scope)
      if (position === undefined) setMissed({ at, words: direction === 'next' ? past.noNext : past.noPrevious })
      return position
    } catch (error) {
      if (!isFailure(error)) throw error
      setMissed({ at, words: messageOf(error) })
      return undefined
    }
  }
  /** Position of the state that is shown now; undefined if the page stays as it is. */
  const step = async (direction: Direction): Promise<string | undefined> => {
    if (looking) return undefined
    setLooking(true)
    setMissed(undefined)
    const position = await found(direction)
    setLooking(false)
    if (position !== undefined) goTo(position)
    return position
  }
  return { step, looking, wrong: missed?.at === at ? missed?.words : undefined }
}
