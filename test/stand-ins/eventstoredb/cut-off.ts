import { EventEmitter } from 'node:events'
import { beginning, type Expected, type Law, type Proposed } from './law.ts'

/**
 * Leader that is partitioned from the other nodes and not yet deposed. It serves its old log, accepts appends that it
 * cannot replicate or acknowledge, and checks later ones against them. Its tail is lost, unless `commit` appends it.
 */
export const cutOff = (law: Law) => {
  const kept = beginning(law, law.all.length)
  const tails = new Map<string, string[]>()
  const accepted: Parameters<Law['append']>[] = []
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
      if (again) return 'never'
      tails.set(name, [...tail, ...ids])
      accepted.push([name, expected, proposed])
      return 'never'
    },
    /** Replicates the tail: its events are in the log, although no append of them was acknowledged. */
    commit: (): void => {
      for (const append of accepted) law.append(...append)
    },
  }
}
