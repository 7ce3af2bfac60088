import t from 'tap'
import type { KeptCheckpoint } from '../../src/ledger/ledger-store.ts'
import { removeSuperseded, superseded } from '../../src/ledger/schedule.ts'

const NOW = Date.parse('2026-03-01T12:00:00.000Z')
const HOUR = 3_600_000

/** Checkpoint of a size, sealed some hours before now. */
const sealed = (size: number, hours: number, keep = false): KeptCheckpoint => {
  const sealedAt = new Date(NOW - hours * HOUR).toISOString()
  return { size, root: '', text: 'text', sealedAt, keep }
}

await t.test('all checkpoints of a day are kept, then the last of each hour, then the last of each day', (t) => {
  const all = [
    sealed(90, 0),
    sealed(80, 23.9),
    // 24.1 and 24.4 hours ago are in the same hour of the clock.
    sealed(71, 24.1),
    sealed(70, 24.4),
    sealed(60, 25.2),
    // 40 days ago, at 12:00, 11:00 and 10:00.
    sealed(52, 960),
    sealed(51, 961),
    sealed(50, 962, true),
    sealed(40, 984),
  ]
  t.strictSame(superseded(all, NOW), [70, 51])
  t.end()
})

await t.test('the periods of the checkpoints begin and end exactly', (t) => {
  const [now, day] = [Date.parse('2026-03-01T12:30:00.000Z'), 24 * HOUR]
  const aged = (size: number, ms: number) => ({ ...sealed(size, 0), sealedAt: new Date(now - ms).toISOString() })
  const left = (...ages: readonly number[]) =>
    superseded(
      ages.map((ms, n) => aged(ages.length - n, ms)),
      now,
    )
  t.strictSame(left(day - 1, day, day + 1), [1], 'at 24 h the last of the hour is kept')
  t.strictSame(left(30 * day - 1, 30 * day, 30 * day + 1), [1], 'at 30 days the last of the day')
  t.strictSame(left(day + HOUR / 2, day + HOUR / 2 + 1), [], '12:00:00.000 and 11:59:59.999 are two hours')
  t.strictSame(left(40.5 * day + HOUR / 2, 40.5 * day + HOUR / 2 + 1), [], '00:00:00.000 and 23:59:59.999 are two days')
  t.end()
})

await t.test('the removal reads page by page and removes the same as a removal at once', async (t) => {
  const all = Array.from({ length: 2_500 }, (_, n) => sealed(2_500 - n, 24 + n / 10))
  const dropped: number[] = []
  await removeSuperseded(
    {
      checkpoints: async (below, limit) => all.filter(({ size }) => size < below).slice(0, limit),
      dropCheckpoints: async (sizes) => void dropped.push(...sizes),
    },
    NOW,
  )
  t.strictSame(dropped, superseded(all, NOW))
  t.ok(dropped.length > 2_000)
})
