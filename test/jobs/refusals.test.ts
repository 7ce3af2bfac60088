import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import type { DataOf } from '../../src/events/define.ts'
import { reader } from '../../src/events/define.ts'
import type { EventLog } from '../../src/events/log.ts'
import { type RefusalEvent, refusalEvents } from '../../src/events/refusal.ts'
import type { Refused } from '../../src/jobs/refusals.ts'
import { refusalHistory } from '../../src/jobs/refusals.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'

type Told = DataOf<RefusalEvent, 'AuthenticationRefused'>
type Summary = DataOf<RefusalEvent, 'RefusalsSummarised'>
type Fault = 'before' | 'after'

const read = reader(refusalEvents)
const sealer = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((a, b) => a + b, 0)

/** A refusal history on a log that fails on demand, before or after the write. */
const world = () => {
  const clock = virtualClock()
  const { now } = clock
  const log = memoryLog()
  const faults: Fault[] = []
  const errors: unknown[] = []
  const append: EventLog['append'] = async (...append) => {
    const fault = faults.shift()
    if (fault === 'before') throw new Refusal('backend_unavailable')
    const appended = await log.append(...append)
    if (fault === 'after') throw new Refusal('backend_unavailable')
    return appended
  }
  const { execute } = executor({ ...log, append }, enveloper(sealer, 'test', now), {
    clock,
    format: () => FORMAT,
  })
  const history = refusalHistory(execute, clock, (error) => errors.push(error))
  const written = async () => {
    const told: Told[] = []
    const summaries: Summary[] = []
    const begun: DataOf<RefusalEvent, 'LoginsBegun'>[] = []
    for await (const page of log.readAll(0n))
      for (const { type, data } of page) {
        const event = read(type, data)
        if (event.type === 'AuthenticationRefused') told.push(event.data)
        else if (event.type === 'LoginsBegun') begun.push(event.data)
        else summaries.push(event.data)
      }
    return { told, summaries, begun }
  }
  return { history, faults, errors, written, clock, now }
}

const refused = (more: Partial<Refused> = {}): Refused => ({
  reason: 'credential_invalid',
  route: '/auth/v1/self',
  requestId: 'r',
  network: '10.0.0.1',
  ...more,
})

await t.test('a refusal is recorded once with its token, also if the token is found later', async (t) => {
  const { history, written, clock, now } = world()
  const at = now()
  const times = 5
  for (let n = 0; n < times; n++) {
    t.notOk(history.note(refused()))
    history.identify({ ...refused(), tokenId: 't1' }, at)
  }
  history.identify({ ...refused(), tokenId: 't2' }, at)
  await clock.advance(60_000)
  await history.flush()
  history.identify({ ...refused(), tokenId: 't1' }, at)
  await history.flush()
  const { told, summaries } = await written()
  t.strictSame(
    told.map(({ tokenId, more, refusedAt }) => [tokenId, more, refusedAt]),
    [
      ['t1', 0, at.toISOString()],
      ['t2', 0, at.toISOString()],
      ['t1', times - 1, at.toISOString()],
    ],
  )
  t.equal(
    summaries.reduce((all, { total }) => all + total, 0),
    times,
  )
})

await t.test('refusals without a credential are counted and never recorded one by one', async (t) => {
  const { history, written } = world()
  for (let n = 0; n < 5000; n++)
    history.note(refused({ network: `10.0.${n % 256}.1`, reason: n % 5 ? 'credential_invalid' : 'credential_missing' }))
  await history.close()
  const { told, summaries } = await written()
  t.strictSame(told, [])
  t.equal(summaries.length, 1)
  t.match(summaries[0], {
    total: 5000,
    byReason: { credential_invalid: 4000, credential_missing: 1000 },
    byRoute: { '/auth/v1/self': 5000 },
  })
  t.equal(Object.keys(JSON.parse(summaries[0]!.networks) as object).length, 10, 'the ten networks with most')
})

await t.test('a refusal is recorded once per minute, token and reason, a failed attempt five times', async (t) => {
  const { history, written, clock } = world()
  for (let minute = 0; minute < 2; minute++) {
    for (let n = 0; n < 9; n++) {
      history.note(refused({ tokenId: 't1', reason: 'token_scoped' }))
      history.note(refused({ serviceAccount: 'apps/web', reason: 'service_account_not_allowed', attempt: true }))
      history.note(refused({ provider: 'main', reason: 'code_refused', attempt: true }))
    }
    await clock.advance(60_000)
  }
  await history.close()
  const { told, summaries } = await written()
  const of = (reason: string) => told.filter((one) => one.reason === reason).map(({ more }) => more)
  t.strictSame(of('token_scoped'), [0, 8], 'each tells how many like it were not told')
  t.strictSame(of('service_account_not_allowed'), [0, 8])
  t.strictSame(of('code_refused'), [0, 0, 0, 0, 0, 4, 0, 0, 0, 0])
  t.match(
    told.find(({ reason }) => reason === 'code_refused'),
    { provider: 'main', network: '10.0.0.1', subject: 'network-2026-01-01' },
  )
  t.equal(
    summaries.reduce((all, { total }) => all + total, 0),
    54,
  )
})

await t.test('the limit of recorded refusals applies to minutes of the clock, to the millisecond', async (t) => {
  const { history, clock } = world()
  const note = () => history.note(refused({ tokenId: 't1', reason: 'token_scoped' }))
  t.ok(note())
  await clock.advance(59_999)
  t.notOk(note())
  await clock.advance(1)
  t.ok(note())
  await history.close()
})

await t.test('refusals are written every 5 s, and their counts after each minute', async (t) => {
  for (const [first, counted] of [
    [0, 60_000],
    [1, 65_000],
  ] as const) {
    const { history, written, clock } = world()
    await clock.advance(first)
    history.note(refused({ tokenId: 't1', reason: 'token_scoped' }))
    history.begun('codehost')
    await clock.advance(4_999 - first)
    t.strictSame(await written(), { told: [], summaries: [], begun: [] })
    await clock.advance(1)
    t.equal((await written()).told.length, 1)
    await clock.advance(counted - 5_001)
    const before = await written()
    t.strictSame([before.summaries, before.begun], [[], []])
    await clock.advance(1)
    const { summaries, begun } = await written()
    t.match([summaries, begun], [[{ total: 1 }], [{ total: 1 }]], `the first was noted at ${first} ms`)
    t.strictSame(clock.waiting(), [5_000])
    await history.close()
    t.strictSame(clock.waiting(), [])
  }
})

await t.test('at most 50 single refusals are written at once', async (t) => {
  const { history, written } = world()
  for (let n = 0; n < 3000; n++) history.note(refused({ tokenId: `t${n}`, reason: 'token_scoped' }))
  await history.close()
  const { told, summaries } = await written()
  t.equal(told.length, 50)
  t.equal(summaries[0]?.total, 3000)
})

await t.test('the number of counted reasons, routes and networks is limited, and totals stay correct', async (t) => {
  const { history, written } = world()
  for (let n = 0; n < 6000; n++) history.note(refused({ reason: `reason-${n}`, route: `/r/${n}`, network: `n${n}` }))
  await history.close()
  const { summaries } = await written()
  const [{ byReason, byRoute, total } = { byReason: {}, byRoute: {}, total: 0 }] = summaries
  t.ok(Object.keys(byReason).length <= 257 && Object.keys(byRoute).length <= 257)
  t.strictSame([sum(byReason), sum(byRoute), total], [6000, 6000, 6000])
})

await t.test('every refusal is counted exactly once despite failures of the log', async (t) => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        note: fc.integer({ min: 1, max: 70 }),
        who: fc.constantFrom('nobody', 't1', 't2', 'attempt'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 90_000 }) }) },
    { weight: 2, arbitrary: fc.record({ flush: fc.constant(true) }) },
    { weight: 2, arbitrary: fc.record({ fault: fc.constantFrom<Fault>('before', 'after') }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { history, written, faults, errors, clock, now } = world()
      const start = now().toISOString()
      let noted = 0
      let failing = 0
      for (const step of steps) {
        if ('note' in step) {
          const who = step.who === 'nobody' ? {} : step.who === 'attempt' ? { attempt: true } : { tokenId: step.who }
          for (let n = 0; n < step.note; n++) history.note(refused(who))
          noted += step.note
        } else if ('pass' in step) await clock.advance(step.pass)
        else if ('fault' in step) {
          faults.push(step.fault)
          failing++
        } else await history.flush()
      }
      for (let n = 0; n <= failing; n++) await history.flush()
      await history.close()
      const { told, summaries } = await written()
      const counted = summaries.reduce((all, { total }) => all + total, 0)
      const ordered = summaries.every(({ from, to }, n) => from <= to && from >= (summaries[n - 1]?.to ?? start))
      const within = told.reduce((all, { more }) => all + 1 + more, 0) <= noted
      const agreed = summaries.every(({ total, byReason, byRoute, networks }) =>
        [byReason, byRoute, JSON.parse(networks) as Record<string, number>].every((counts) => sum(counts) === total),
      )
      return counted === noted && ordered && within && agreed && errors.length <= failing
    }),
    { numRuns: 300 },
  )
  t.pass('300 histories')
})

await t.test('begun logins are counted by method in one event for each period, despite failures', async (t) => {
  const { history, written, faults, clock } = world()
  await history.flush()
  t.same((await written()).begun, [], 'nothing when nothing happened')
  for (let n = 0; n < 10_000; n++) history.begun(n % 4 === 0 ? 'codehost' : 'oidc/main')
  clock.jump(60_000)
  faults.push('after')
  await history.flush()
  history.begun('codehost')
  await history.flush()
  t.same((await written()).begun, [
    {
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-01T00:01:00.000Z',
      total: 10_000,
      byWay: { codehost: 2500, 'oidc/main': 7500 },
    },
    { from: '2026-01-01T00:01:00.000Z', to: '2026-01-01T00:01:00.000Z', total: 1, byWay: { codehost: 1 } },
  ])
  await history.close()
})

await t.test('a refused token is recorded once per right and namespace, at most ten times a minute', async (t) => {
  const { history, written, clock } = world()
  const asked = (namespace?: string, right = 'flag.update') =>
    history.note(
      refused({ reason: 'right_missing', tokenId: 't1', right, ...(namespace !== undefined && { namespace }) }),
    )
  t.strictSame([asked('shop'), asked('shop'), asked('shop', 'flag.create'), asked()], [true, false, true, true])
  for (let n = 0; n < 5_000; n++) asked(`n${n}`)
  t.ok(
    history.note(refused({ reason: 'right_missing', tokenId: 't2', right: 'flag.read', namespace: 'x'.repeat(300) })),
  )
  await clock.advance(60_000)
  t.ok(asked('shop'))
  await history.close()
  const { told } = await written()
  t.strictSame(
    told.slice(0, 4).map(({ right, namespace }) => [right, namespace]),
    [
      ['flag.update', 'shop'],
      ['flag.create', 'shop'],
      ['flag.update', undefined],
      ['flag.update', 'n0'],
    ],
  )
  t.equal(told.filter(({ tokenId }) => tokenId === 't1').length, 11)
  t.equal(told.find(({ tokenId }) => tokenId === 't2')?.namespace?.length, 255, 'as much of a name as an answer tells')
  t.equal(told.at(-1)?.more, 1 + 5_000 - 7, 'the next says how many were left out')
})
