import type { Test } from 'tap'

/** Random numbers with a logged seed; ROLLCALL_CRASH_SEED repeats an earlier run. */
export const draws = (t: Pick<Test, 'comment'>): ((from: number, below: number) => number) => {
  const seed = Number(process.env['ROLLCALL_CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`drawn by ROLLCALL_CRASH_SEED=${seed}`)
  let state = seed
  return (from, below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return from + (((mixed ^ (mixed >>> 14)) >>> 0) % (below - from))
  }
}
