import { EventEmitter } from 'node:events'
import { beginning, type Expected, type Law, type Proposed } from './law.ts'

/**
 * Leader that is partitioned from the other nodes and not yet deposed. It serves its old log, accepts appends that it
 * cannot replicate or acknowledge, and checks later ones against them. Its tail is lost.
 */
export const cutOff = (law: Law) => {
  const kept = beginning(law, law.all.length)
  const tails = new Map<string, string[]>()
  return {
    law: { ...law, ...kept, appended: new EventEmitter() } satisfies Law,
    /** Answers an append with a wrong version, or not before its timeout. */
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
