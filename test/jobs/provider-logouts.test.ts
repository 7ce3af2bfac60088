import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { unfinishedLogouts } from '../../src/jobs/provider-logouts.ts'

const HOUR = 3_600_000

await t.test('each run resumes the accepted logouts, the first one those of the life of a session', async (t) => {
  const asked: string[] = []
  const resumed: string[] = []
  let fails = true
  const { run, every } = unfinishedLogouts({
    received: async function* (since) {
      asked.push(since)
      yield* ['one', 'two'].map((id) => ({ id }) as Stored)
    },
    resume: async ({ id }) => {
      if (fails && id === 'two') throw new Error('the store is away')
      resumed.push(id)
    },
    sessionLife: 24 * HOUR,
    now: () => new Date('2026-01-02T12:00:00.000Z'),
  })
  t.equal(every, 60_000)
  const { signal } = new AbortController()
  await t.rejects(
    run(signal, () => undefined),
    { message: 'the store is away' },
  )
  fails = false
  await run(signal, () => undefined)
  await run(signal, () => undefined)
  t.strictSame(asked, ['2026-01-01T12:00:00.000Z', '2026-01-01T12:00:00.000Z', '2026-01-02T11:45:00.000Z'])
  t.strictSame(resumed, ['one', 'one', 'two', 'one', 'two'])
  await run(AbortSignal.abort(), () => undefined)
  t.equal(resumed.length, 5, 'an aborted run resumes none')
})
