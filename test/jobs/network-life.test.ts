import t from 'tap'
import { networkLife } from '../../src/jobs/erasures.ts'

const DAY = 86_400_000
const signal = new AbortController().signal

/** The job over keys of days in memory. */
const world = (life: number, days: readonly string[]) => {
  const keys = new Set(days.map((day) => `network-${day}`))
  const state = { now: new Date('2026-03-10T00:00:00.000Z'), isSteady: true, jumps: 0 }
  const erased: string[] = []
  const job = networkLife({
    life,
    keys: {
      between: async (from, below, most) =>
        [...keys]
          .filter((key) => key >= from && key < below)
          .sort()
          .slice(0, most),
    },
    eraser: {
      erase: async (subject, reason, context) => {
        t.strictSame([reason, context], ['history.network_life', { actor: { kind: 'system' } }])
        keys.delete(subject)
        erased.push(subject)
        return { keys: [subject], tokens: [], last: undefined }
      },
    },
    now: () => state.now,
    steady: () => state.isSteady,
    onJump: () => state.jumps++,
  })
  return { state, erased, keys, every: job.every, run: () => job.run(signal, () => undefined) }
}

await t.test('the job runs once an hour', async (t) => {
  t.equal(world(DAY, []).every, 3_600_000)
})

await t.test('the addresses of a day are erased when the configured time after its end has passed', async (t) => {
  const { state, erased, run } = world(2 * DAY, ['2026-03-06', '2026-03-07', '2026-03-08', '2026-03-09', '2026-03-10'])
  await run()
  t.strictSame(erased, ['network-2026-03-06', 'network-2026-03-07'], 'the 7th ended two days ago')
  state.now = new Date('2026-03-10T23:59:59.999Z')
  await run()
  t.equal(erased.length, 2)
  state.now = new Date('2026-03-11T00:00:00.000Z')
  await run()
  t.strictSame(erased.slice(2), ['network-2026-03-08'])
})

await t.test('all old days are erased, however many there are, and other subjects stay', async (t) => {
  const days = Array.from({ length: 250 }, (_, n) => new Date(Date.UTC(2025, 0, 1 + n)).toISOString().slice(0, 10))
  const { erased, keys, run } = world(DAY, days)
  keys.add('person-a').add('token-1').add('network-')
  await run()
  t.equal(erased.filter((key) => key !== 'network-').length, 250)
  t.ok(keys.has('person-a') && keys.has('token-1'))
})

await t.test('nothing is erased in the run after a jump of the clock', async (t) => {
  const { state, erased, run } = world(DAY, ['2026-03-01'])
  state.isSteady = false
  await run()
  t.strictSame([erased, state.jumps], [[], 1])
  state.isSteady = true
  await run()
  t.strictSame(erased, ['network-2026-03-01'])
})
