import { EventEmitter } from 'node:events'
import { beginning, type Expected, type Law, type Proposed } from './law.ts'

/**
 * A leader that the others no longer reach, until it learns that it was deposed: it reads the log as it was, takes appends that it can never
 * replicate, and checks later ones against those. It acknowledges nothing, and its tail vanishes.
 */
export const cutOff = (law: Law) => {
  const kept = beginning(law, law.all.length)
  const tails = new Map<string, string[]>()
  return {
    law: { ...law, ...kept, appended: new EventEmitter() } satisfies Law,
    /** What it answers to an append: a wrong version, or nothing before its time is out. */
    append: (name: string, expected: Expected, proposed: readonly Proposed[]) => {
      const tail = tails.get(name) ?? []
      const known = kept.shown(name).events.length
      const first = typeof expected === 'bigint' ? Number(expected) + 1 : 0
      const ids = proposed.map(({ id }) => id)
      const again = ids.every((id, n) => tail[first - known + n] === id)
      const current = BigInt(known + tail.length - 1)
      if (first !== known + tail.length && !again)
        return { wrong: expected, current: current < 0n ? undefined : current }
      if (!again) tails.set(name, [...tail, ...ids])
      return 'never'
    },
  }
}
