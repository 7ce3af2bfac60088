import t from 'tap'
import { type FollowerOptions, ledgerFollower, servedCheckpoint } from '../../src/ledger/follower.ts'
import type { KeptCheckpoint } from '../../src/ledger/ledger-store.ts'
import { housekeeping, pacing } from '../../src/ledger/schedule.ts'
import type { Sealed } from '../../src/ledger/sealing.ts'
import { virtualClock } from '../virtual-clock.ts'

const checkpoint = (size: number): KeptCheckpoint => ({
  size,
  root: `root ${size}`,
  text: `${size}\n`,
  sealedAt: '2026-01-01T00:00:00.000Z',
  keep: false,
})

await t.test('a checkpoint is due at its age, its number of events, or a minute after an obstacle', async (t) => {
  const clock = virtualClock()
  const pace = pacing({ clock, interval: 10_000, events: 3 })
  t.equal(pace.pause(), 0, 'nothing was attempted')
  t.notOk(pace.isDue(1, false))
  t.ok(pace.isDue(3, false), 'at its number of events')
  await clock.advance(9_999)
  t.notOk(pace.isDue(2, false))
  await clock.advance(1)
  t.ok(pace.isDue(1, false), 'at its age')
  pace.attempted(clock.monotonic(), true)
  t.equal(pace.pause(), 1_000)
  await clock.advance(999)
  t.equal(pace.pause(), 1)
  await clock.advance(1)
  t.equal(pace.pause(), 0)
  await clock.advance(58_999)
  t.notOk(pace.isDue(3, true))
  await clock.advance(1)
  t.ok(pace.isDue(0, true))
})

await t.test('scrubs are read once a minute, and superseded checkpoints removed once an hour', async (t) => {
  const clock = virtualClock()
  const calls = { scrubbed: 0, checkpoints: 0, noted: 0 }
  const store = {
    scrubbed: async () => void calls.scrubbed++,
    checkpoints: async () => {
      calls.checkpoints++
      return []
    },
    dropCheckpoints: async () => undefined,
  }
  const keep = housekeeping(clock, store, () => void calls.noted++)
  await keep()
  t.strictSame(calls, { scrubbed: 1, checkpoints: 1, noted: 1 })
  await clock.advance(59_999)
  await keep()
  t.equal(calls.scrubbed, 1)
  await clock.advance(1)
  await keep()
  t.equal(calls.scrubbed, 2)
  await clock.advance(3_539_999)
  await keep()
  t.equal(calls.checkpoints, 1)
  await clock.advance(1)
  await keep()
  t.equal(calls.checkpoints, 2)
})

await t.test('signatures that other instances added are read every five seconds', async (t) => {
  const clock = virtualClock()
  const shown: string[] = []
  const own = servedCheckpoint({
    clock,
    store: { checkpoint: async () => ({ ...checkpoint(1), text: `1\n${'signed '.repeat(++reads)}\n` }) },
    isCosignedElsewhere: true,
    onCheckpoint: ({ text }) => shown.push(text),
  })
  let reads = 0
  own.serve(checkpoint(1))
  await own.refresh()
  t.equal(reads, 1)
  await clock.advance(4_999)
  await own.refresh()
  t.equal(reads, 1)
  await clock.advance(1)
  await own.refresh()
  t.equal(reads, 2)
  t.strictSame(shown, ['1\n', '1\nsigned \n', '1\nsigned signed \n'])
})

/** A follower over a log that grows, whose attempts to seal have the given results in turn. */
const kept = (results: readonly (Sealed | undefined)[]) => {
  const clock = virtualClock()
  const state = { head: 0n, size: 0, attempts: 0 }
  const options: FollowerOptions = {
    clock,
    log: { head: async () => state.head },
    followed: () => state.head,
    start: async () => undefined,
    store: {
      checkpoints: async () => [],
      checkpoint: async () => undefined,
      dropCheckpoints: async () => undefined,
      scrubbed: async () => undefined,
    },
    isCosignedElsewhere: false,
    newestCheckpoint: async () => undefined,
    tree: {
      begin: async () => undefined,
      advance: async (to) => void (state.size = Number(to)),
      size: () => state.size,
      position: () => BigInt(state.size),
    },
    recordFound: async () => undefined,
    sealingWith: () => async () => results[state.attempts++],
    interval: 10_000,
    events: 1_000,
    onCheckpoint: () => undefined,
    onObstacle: () => undefined,
    onError: (error) => t.fail(String(error)),
  }
  return { clock, state, follower: ledgerFollower(options) }
}

await t.test('the tree follows the log twice a second', async (t) => {
  const { clock, state, follower } = kept([{ checkpoint: checkpoint(0) }, { checkpoint: checkpoint(5) }])
  await follower.begin()
  await clock.settle()
  state.head = 5n
  await clock.advance(499)
  t.equal(state.size, 0)
  await clock.advance(1)
  t.equal(state.size, 5)
  await follower.close()
})

await t.test('a seal that other instances overtake is attempted four times', async (t) => {
  const sealed = { checkpoint: checkpoint(5) }
  const { clock, state, follower } = kept([undefined, undefined, undefined, sealed])
  state.head = 5n
  await follower.begin()
  await clock.settle()
  t.equal(state.attempts, 4)
  t.equal(follower.served(), sealed.checkpoint)
  await follower.close()
  const lost = kept([])
  await lost.follower.begin()
  await lost.clock.settle()
  t.equal(lost.state.attempts, 4, 'at most')
  t.equal(lost.follower.served(), undefined)
  await lost.follower.close()
})
