import type { Stored } from '../../events/log.ts'

type Events = readonly Stored[]

/**
 * Pairs the pages of two logs: both pages of a pair have the same length. The surplus of the longer log comes last,
 * paired with empty pages.
 */
export async function* zipPages(
  left: AsyncIterable<Events>,
  right: AsyncIterable<Events>,
): AsyncGenerator<readonly [Events, Events]> {
  const [ours, theirs] = [left[Symbol.asyncIterator](), right[Symbol.asyncIterator]()]
  const more = async (has: Events, from: AsyncIterator<Events>): Promise<Events> => {
    if (has.length > 0) return has
    const { value, done } = await from.next()
    return done ? [] : value
  }
  let [a, b]: [Events, Events] = [[], []]
  try {
    for (;;) {
      a = await more(a, ours)
      b = await more(b, theirs)
      const both = Math.min(a.length, b.length)
      if (both === 0) {
        if (a.length + b.length > 0) yield [a, b]
        return
      }
      yield [a.slice(0, both), b.slice(0, both)]
      a = a.slice(both)
      b = b.slice(both)
    }
  } finally {
    await ours.return?.()
    await theirs.return?.()
  }
}
