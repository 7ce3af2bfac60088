import type { View } from '../views.ts'

type Reached = (view: View, position: bigint, withinMs: number) => Promise<boolean>

/**
 * Checks whether the views hold every event that was in the log at the start. Once the result is true, it stays true.
 */
export const catchUp = (views: readonly View[], reached: Reached) => {
  let wanted: bigint | undefined
  let done = false
  return {
    /** Stores the end of the log at the start. */
    begin: (head: bigint): void => void (wanted = head),
    done: async (): Promise<boolean> => {
      if (done || wanted === undefined) return done
      const [head] = [wanted]
      const all = await Promise.all(views.map((view) => reached(view, head, 0)))
      done = all.every(Boolean)
      return done
    },
  }
}
