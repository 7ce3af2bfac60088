import t from 'tap'
import { outageLog } from '../../src/app/telemetry/outage-log.ts'
import { Refusal } from '../../src/base/errors.ts'
import { virtualClock } from '../virtual-clock.ts'

type Line = readonly [level: string, record: Readonly<Record<string, unknown>>, message: string]

/** Time (ms) without a failure after which a store counts as recovered. */
const QUIET = 10_000
const faulty = () => {
  const clock = virtualClock()
  const lines: Line[] = []
  const to = (level: string) => (record: object, message: string) =>
    void lines.push([level, record as Line[1], message])
  const log = { error: to('ERROR'), info: to('INFO') } as Parameters<typeof outageLog>[0]
  return { ...outageLog(log, clock), lines, clock }
}
const away = (why = 'connect ECONNREFUSED mongodb://root:canary@db:27017/x\nat canary') =>
  new Refusal('backend_unavailable', undefined, { cause: new Error(why) })

await t.test('one line is logged when a store starts to fail, and one when it works again', async (t) => {
  const { of, lines, wasReported: knows, clock } = faulty()
  const mongo = of('mongodb')
  const first = away()
  mongo.failed('views', 'put', first)
  for (let n = 0; n < 100; n++) {
    mongo.failed('views', 'put', away())
    mongo.failed('keys', 'find', away())
    mongo.worked('views', 'put')
  }
  await clock.advance(QUIET - 1)
  t.equal(lines.length, 1)
  await clock.advance(1)
  t.equal(lines.length, 2)
  t.match(lines[0], [
    'ERROR',
    { port: 'views', adapter: 'mongodb', operation: 'put', why: 'connect ECONNREFUSED mongodb://db:27017/x' },
  ])
  t.match(lines[0]![1]['advice'], /MongoDB/)
  t.match(lines[1], ['INFO', { adapter: 'mongodb', failures: 201 }, 'it works again'])
  t.notMatch(JSON.stringify(lines), /canary/)
  t.ok(knows(first) && !knows(new Error('of somebody else')))
  mongo.failed('views', 'put', away())
  t.equal(lines.length, 3, 'a new failure is logged again')
})

await t.test('an outage ends only when the operation that failed succeeds again', async (t) => {
  const { of, lines, clock } = faulty()
  const store = of('embedded')
  store.failed('log', 'append', away())
  store.worked('log', 'read')
  await clock.advance(2 * QUIET)
  t.equal(lines.length, 1)
  store.worked('log', 'append')
  await clock.advance(QUIET - 1)
  store.failed('log', 'append', away())
  await clock.advance(2 * QUIET)
  t.equal(lines.length, 1)
  store.worked('log', 'append')
  await clock.advance(QUIET)
  t.match(lines[1], ['INFO', { failures: 2, seconds: 30 }])
})

await t.test('a full disk is not logged as an outage, because it has its own log line', (t) => {
  const { of, lines, wasReported: knows } = faulty()
  const full = new Refusal('backend_unavailable', undefined, {
    cause: Object.assign(new Error('disk full'), { code: 'ENOSPC' }),
  })
  of('embedded').failed('log', 'append', full)
  t.same(lines, [])
  t.ok(knows(full))
  t.end()
})

await t.test('a monitored function keeps its results and errors, and a refusal counts as no failure', async (t) => {
  const { instrument: around, lines } = faulty()
  const answers = [
    () => 7,
    () => new Refusal('code_refused'),
    () => new Refusal('provider_unavailable', undefined, { cause: new Error('no route') }),
  ]
  const calls = around('provider', 'oidc main', {
    finish: async (n: number) => {
      const answer = answers[n]!()
      if (answer instanceof Refusal) throw answer
      return answer
    },
  })
  t.equal(await calls.finish(0), 7)
  await t.rejects(calls.finish(1), new Refusal('code_refused'))
  t.same(lines, [])
  await t.rejects(calls.finish(2), new Refusal('provider_unavailable'))
  t.match(lines, [
    ['ERROR', { port: 'provider', adapter: 'oidc main', operation: 'finish', why: 'no route', advice: /provider/ }],
  ])
})

await t.test('a failure of Redis is logged with advice and with the fact that no request is refused', (t) => {
  const said: readonly (readonly [why: string, advice: RegExp])[] = [
    ['connect ECONNREFUSED 127.0.0.1:6379', /runs and is reachable/],
    ['MOVED 866 127.0.0.1:7002', /redis\.mode to cluster/],
    ["CROSSSLOT Keys in request don't hash to the same slot", /redis\.mode to cluster/],
    ["OOM command not allowed when used memory > 'maxmemory'.", /maxmemory/],
    ["NOPERM User rollcall has no permissions to run the 'evalsha' command", /Least privilege/],
    ['WRONGPASS invalid username-password pair or user is disabled.', /redis\.password/],
    ["READONLY You can't write against a read only replica.", /sentinel/],
    ['self-signed certificate in certificate chain', /redis\.ca_file/],
  ]
  for (const [why, advice] of said) {
    const { of, lines } = faulty()
    const redis = of('redis')
    t.equal(redis.failing.size, 0)
    redis.failed('queue', 'share', new Error(why))
    t.equal(redis.failing.size, 1)
    t.match(lines, [['ERROR', { port: 'queue', adapter: 'redis', why, advice }, /no request is refused/]])
  }
  t.end()
})

await t.test('a failure is logged again if the previous one is more than ten minutes old', async (t) => {
  const { of, lines, clock } = faulty()
  const mongo = of('mongodb')
  mongo.failed('views', 'put', away())
  for (const [ms, told] of [
    [600_000, 1],
    [600_000, 1],
    [600_001, 2],
    [1, 2],
  ] as const) {
    await clock.advance(ms)
    mongo.failed('views', 'put', away())
    t.equal(lines.length, told, `${ms} ms after the one before`)
  }
  mongo.worked('views', 'put')
  await clock.advance(QUIET)
  t.match(lines[2], ['INFO', { failures: 2 }], 'earlier ones are not counted')
})

await t.test('no failure is logged after the end, when the stores refuse the rest of the work', (t) => {
  const { of, end, lines, wasReported } = faulty()
  end()
  const refused = new Refusal('backend_unavailable')
  of('embedded').failed('log', 'read', refused)
  t.strictSame(lines, [])
  t.ok(wasReported(refused), 'no other code logs it either')
  t.end()
})
