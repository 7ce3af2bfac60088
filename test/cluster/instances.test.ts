import t, { type Test } from 'tap'
import type { Problem } from '../http/people.ts'
import { type Started, startBeside, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { issue, revoke } from './revoking.ts'
import { controlling, startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
/** Validity of a proof of the head, in ms. */
const LEASE = 2_000
const self = async (service: Started, bearer: { authorization: string }) =>
  (await service.request('GET', '/auth/v1/self', undefined, bearer)).status
await t.test('two instances run on the same servers', { skip }, async (t) => {
  const clocks = [virtualClock(), virtualClock()] as const
  const [a, b] = [
    await startService(t, stack!.settings, { clock: clocks[0] }),
    await startBeside(clocks, t, stack!.settings, { clock: clocks[1] }),
  ]
  /** Test with running clocks. */
  const timed = (name: string, body: (t: Test) => Promise<unknown>) =>
    t.test(name, async (t) => void (await walking(clocks, () => body(t))))

  await t.test('a token created on one instance works on the other at once', async (t) => {
    for (let n = 0; n < 50; n++) {
      const { bearer } = await issue(n % 2 ? a : b)
      t.equal(await self(n % 2 ? b : a, bearer), 200)
    }
  })

  await t.test('a deleted token is refused on both instances without delay', async (t) => {
    for (let n = 0; n < 50; n++) {
      const { bearer, id } = await issue(a)
      for (const service of [a, b]) t.equal(await self(service, bearer), 200)
      await revoke(a, id)
      const since = clocks[1].monotonic()
      t.equal(await self(a, bearer), 401)
      await eventually(async () => (await self(b, bearer)) === 401, 'the refusal on the other')
      t.equal(clocks[1].monotonic(), since)
    }
  })

  await timed('evaluates flags written on the other instance, and reads wait for a position', async (t) => {
    const flags = '/api/v1/namespaces/default/flags'
    await a.request('POST', flags, { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
    const made = await a.request('POST', `${flags}/f/rollouts`, { threshold: { percentage: 100, value: true } })
    t.equal(made.status, 200)
    const after = { 'after-position': String(made.headers['event-position']) }
    const said = await b.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, after)
    t.match(said.json, { enabled: true })
    const [one, other] = await Promise.all([a, b].map((each) => each.request('GET', `${flags}/f`, undefined, after)))
    t.same(one!.json, other!.json)
    t.equal(one!.headers.etag, other!.headers.etag)
    const [left, right] = await Promise.all(
      [a, b].map((each) => each.request('GET', '/internal/v1/evaluation/snapshot/namespace/default')),
    )
    t.equal(left!.headers.etag, right!.headers.etag)
  })

  await t.test('a batch of changes becomes visible on another instance as a whole', async (t) => {
    const flag = '/api/v1/namespaces/default/flags/several'
    await a.request('POST', '/api/v1/flags', { key: 'several', name: 's', type: 'BOOLEAN_FLAG_TYPE' })
    const refs = ['1', '2', '3', '4', '5']
    const make = refs.map((ref) => ({ op: 'rollout.create', ref, threshold: { percentage: 1, value: true } }))
    const written = new AbortController()
    const seen = new Set<unknown>()
    const reading = (async () => {
      while (!written.signal.aborted) seen.add((await b.request('GET', `${flag}/rollouts`)).json['totalCount'])
    })()
    for (let n = 0; n < 40; n++) {
      const made = await a.request<{ refs: Record<string, string> }>('POST', `${flag}/changes`, { changes: make })
      t.equal(made.status, 200)
      const gone = refs.map((ref) => ({ op: 'rollout.delete', id: made.json.refs[ref] }))
      t.equal((await a.request('POST', `${flag}/changes`, { changes: gone })).status, 200)
    }
    written.abort()
    await reading
    t.strictSame(
      [...seen].toSorted((one, other) => Number(one) - Number(other)),
      [0, 5],
      'nothing between',
    )
  })

  await timed('an idempotency key has one effect over both instances', async (t) => {
    const key = { 'idempotency-key': 'once' }
    const answers = await Promise.all(
      [a, b, a, b].map((each) => each.request('POST', '/auth/v1/method/token', { name: 'same' }, key)),
    )
    t.ok(answers.every(({ status }) => status === 200 || status === 409))
    const again = await b.request<{ authentication: { id: string } }>(
      'POST',
      '/auth/v1/method/token',
      { name: 'same' },
      key,
    )
    t.equal(again.status, 200)
    const { json } = await a.request<{ totalCount: number }>('GET', '/auth/v1/tokens?q=same')
    t.equal(json.totalCount, 1)
  })

  const withoutRedis = 'without Redis all requests succeed and nothing is lost'
  await controlling(t, stack!, { redis: 'ends and restarts it' }, withoutRedis, async (t, { redis }) => {
    await redis.kill()
    const { bearer } = await issue(a)
    t.equal(await self(b, bearer), 200)
    const ready = await walking(clocks, () => a.request('GET', '/readyz?verbose'))
    t.equal(ready.status, 200)
    t.match(ready.text, /"queue","status":"degraded"/)
    await redis.start()
  })

  const withoutMongo = 'without MongoDB cached tokens and commands work, and the views catch up afterwards'
  await controlling(t, stack!, { mongodb: 'ends and restarts it' }, withoutMongo, async (t, { mongodb }) => {
    await walking(clocks, async () => {
      const before = await issue(a)
      const ask = () => b.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, before.bearer)
      t.equal((await ask()).status, 200)
      const events = '/audit/v1/events?limit=30&format=ndjson'
      t.match((await a.request('GET', `${events}&personal=open`)).text, /"\/meta\/ip":\{"status":"open"/)
      await mongodb.kill()
      t.equal((await ask()).status, 200)
      const flag = await a.request('POST', '/api/v1/namespaces/default/segments', { key: 's', name: 'S' })
      t.equal(flag.status, 200, flag.text)
      t.match((await a.request('GET', '/readyz?verbose')).text, /"views","status":"degraded"/)
      t.equal((await a.request('GET', '/auth/v1/tokens')).status, 503, 'what only the views know is refused')
      t.equal((await a.request('GET', events)).status, 200)
      t.equal((await a.request('GET', '/audit/v1/events?type=Segment*')).status, 503, 'a filter needs the index')
      t.equal((await a.request('GET', '/audit/v1/ledger/checkpoint')).status, 200)
      const opened = (search: string) => a.request<Problem>('GET', `/audit/v1/events?personal=open&${search}`)
      await eventually(
        async () => (await opened('limit=30&format=ndjson')).status !== 200,
        'the end of the cached keys',
      )
      for (const search of ['limit=30', 'limit=30&format=ndjson', 'afterIndex=-1&format=sse'])
        t.match(await opened(search), {
          status: 503,
          json: { details: [{ value: { reason: 'backend_unavailable' } }] },
        })
      await mongodb.start()
      await eventually(async () => (await a.request('GET', '/auth/v1/tokens')).status === 200, 'a list once it is back')
    })
  })

  const withoutLog = 'without the event store requests get 503 and never outdated data, until it is back'
  await controlling(t, stack!, { eventstore: 'ends and restarts it' }, withoutLog, async (t, { eventstore }) => {
    const { bearer } = await issue(a)
    const evaluate = () => a.request<Problem>('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' }, bearer)
    t.equal((await evaluate()).status, 200)
    eventstore.kill()
    await clocks[0].advance(LEASE + 1)
    t.match(await evaluate(), { status: 503, json: { details: [{ value: { reason: 'auth_stale' } }] } })
    await walking(clocks, async () => {
      t.equal((await a.request('GET', '/readyz')).status, 503)
      t.equal((await a.request('GET', '/livez')).status, 200)
      await eventstore.restart()
      await eventually(async () => (await evaluate()).status === 200, 'an answer once it is back')
    })
    const spells = (await a.logged())
      .split('\n')
      .filter((line) => line.includes('this instance cannot prove that it has received every revocation of a token'))
    t.equal(spells.length, 1, 'logged once')
    t.match(spells[0], /"level":"WARN".*"why":"the event log does not return its newest position/)
    t.match(await a.logged(), '"msg":"this instance has again received every revocation of a token"')
  })
})
