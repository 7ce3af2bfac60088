import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { Refusal } from '../../src/base/errors.ts'
import { text } from '../../src/contract/readers/fields.ts'
import { query } from '../../src/contract/readers/input.ts'
import { atMoment } from '../../src/contract/readers/moment.ts'
import { metricsOf, metricsPage } from '../../src/http/metrics/metrics.ts'
import type { Step } from '../../src/http/route/pipeline.ts'
import { route } from '../../src/http/route/route.ts'
import { ordinary } from '../../src/http/route/statements.ts'
import { asOfReadings } from '../../src/http/steps/as-of-readings.ts'
import { preconditions } from '../../src/http/steps/preconditions.ts'
import { ok } from '../../src/http/wire/reply.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo } from './demo.ts'

/** Accepts any token. */
const authorize: Step = ({ request }) => {
  const id = request.headers.authorization?.slice('Bearer '.length)
  request.caller =
    id === undefined
      ? { actor: { kind: 'anonymous' }, via: 'none' }
      : { actor: { kind: 'token', id, method: 'token' }, via: 'bearer' }
}

/** Read whose steps the test allows; `end` ends it with or without an error. */
type Reading = {
  readonly name: string
  steps: number
  readonly step: () => void
  readonly end: (error?: Error) => void
}
type Bounds = NonNullable<Parameters<typeof asOfReadings>[2]>

/**
 * Server whose route `/past` reads step by step until the test ends it; a read named `hang` ignores aborts. `begun`
 * lists the started reads, `told` the answered status codes.
 */
const serving = async (t: Test, bounds?: Bounds) => {
  const clock = virtualClock()
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: false })
  const begun: Reading[] = []
  const told: number[] = []
  const readings = asOfReadings(metrics, clock, bounds)
  /** A token consists of its holder and a number. */
  const holderOf = async (id: string) => id.split('#', 1)[0]!
  const service = { pastReadings: { read: readings, holderOf } }
  const steps = preconditions(service as unknown as Parameters<typeof preconditions>[0])
  const read = async (name: string, stop: AbortSignal) => {
    const over: (Error | undefined)[] = []
    let go = (): void => undefined
    const end = (error?: Error) => {
      over.push(error)
      go()
    }
    const reading: Reading = { name, steps: 0, step: () => go(), end }
    begun.push(reading)
    while (over.length === 0) {
      if (name !== 'hang') stop.throwIfAborted()
      reading.steps++
      await new Promise<void>((next) => (go = next))
    }
    if (over[0]) throw over[0]
    return ok({ name })
  }
  const own = await demo({
    clock,
    authorize,
    ...steps,
    answered: (_, { statusCode }) => void told.push(statusCode),
    routes: (
      [
        ['/past', 'self.use'],
        ['/past/:name', 'self.use'],
        ['/review', 'audit.read'],
      ] as const
    ).map(
      ([url, right]) =>
        (app) =>
          route(app, {
            ...ordinary,
            method: 'GET',
            url,
            access: { credential: 'required', namespace: 'none', right },
            tag: '',
            summary: '',
            query: query({ at: atMoment, name: text() }),
            answer: Type.Object({ name: Type.String() }),
            run: ({ query: { at, name }, request }) => {
              if (name === 'now') throw new Error('thrown at once')
              return at ? read(name, request.stop) : ok({ name })
            },
          }),
    ),
  })
  t.teardown(async () => {
    for (const { end } of begun) end()
    await own.app.close()
  })
  type Ask = { at?: string; signal?: AbortSignal; path?: string }
  const ask = async (token: string, name: string, { at = '1', signal, path = '/past' }: Ask = {}) => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(`${own.url}${path}?at=${at}&name=${name}`, { headers, signal: signal ?? null })
    const json = (await answer.json()) as {
      readonly code?: number
      readonly message?: string
      readonly details?: readonly { readonly value: { readonly reason: string } }[]
    }
    const { code, message, details } = json
    const again = answer.headers.get('retry-after')
    return code === undefined
      ? { status: answer.status }
      : { status: answer.status, code, message, reason: details?.[0]?.value.reason, again }
  }
  const named = (name: string) => begun.filter((reading) => reading.name === name)
  const metric = async (name: string) => {
    const page = Buffer.concat([...(await metrics.write())]).toString()
    return Number(new RegExp(`^m_past_reads_${name} (.*)$`, 'm').exec(page)?.[1])
  }
  /** Waits until `count` reads have started, of a name or in total. */
  const beginning = (count: number, name?: string) =>
    eventually(
      () => (name === undefined ? begun : named(name)).length >= count,
      `reading ${count} of ${name ?? 'all'} to begin`,
    )
  const waiting = (count: number) =>
    eventually(async () => (await metric('waiting')) === count, `${count} readings that wait`)
  return { ...own, clock, begun, named, ask, told, metric, beginning, waiting }
}

const served = { status: 200 }
const tooMany = { status: 429, code: 8, message: 'too many requests', reason: 'rate_limited', again: '1' }
const busy = { status: 503, code: 14, message: 'history is busy', reason: 'history_busy', again: '1' }
const tooLong = { status: 504, code: 4, message: 'deadline exceeded', reason: 'deadline_exceeded', again: null }

await t.test('a token may run four reads of past states at once, and a fifth is refused', async (t) => {
  const { ask, begun, named, metric, beginning } = await serving(t)
  const four = ['a', 'b', 'c', 'd'].map((name) => ask('one', name))
  await beginning(4)
  t.strictSame(await ask('one', 'e'), tooMany)
  t.strictSame(await ask('one', 'e', { at: '' }), { status: 200 }, 'the present is no reading of the past')
  t.match(await ask('one', 'e', { at: 'x' }), { status: 400, reason: 'invalid_at' })
  const other = ask('two', 'other')
  await beginning(1, 'other')
  t.equal(await metric('running'), 5)
  named('other')[0]!.end()
  t.strictSame(await other, { status: 200 })
  for (const { end } of begun) end()
  t.strictSame(
    await Promise.all(four),
    Array.from({ length: 4 }, () => served),
  )
  t.strictSame([await metric('running'), await metric('refused_total'), await metric('seconds_count')], [0, 1, 5])
})

await t.test('clients without a credential share the limit of reads of past states by address', async (t) => {
  const { ask, begun, beginning } = await serving(t)
  const four = ['a', 'b', 'c', 'd'].map((name) => ask('', name))
  await beginning(4)
  t.strictSame(await ask('', 'e'), tooMany)
  const other = ask('one', 'other')
  await beginning(1, 'other')
  for (const { end } of begun) end()
  t.strictSame(
    await Promise.all([...four, other]),
    Array.from({ length: 5 }, () => served),
  )
})

await t.test('all tokens of one holder share the limit of four reads of past states', async (t) => {
  const { ask, begun, named, beginning } = await serving(t)
  const four = ['a', 'b', 'c', 'd'].map((name, n) => ask(`ann#${n}`, name))
  await beginning(4)
  t.strictSame(await ask('ann#5', 'e'), tooMany)
  const other = ask('bob#1', 'other')
  await beginning(1, 'other')
  named('other')[0]!.end()
  t.strictSame(await other, served)
  for (const { end } of begun) end()
  await Promise.all(four)
})

await t.test('an instance admits 64 reads of past states: eight run, and eight are access reviews', async (t) => {
  const { ask, begun, metric, beginning, waiting } = await serving(t)
  const all = Array.from({ length: 56 }, (_, n) => ask(`holder-${n % 14}`, `r${n}`))
  await waiting(48)
  t.strictSame([await metric('running'), await metric('waiting'), begun.length], [8, 48, 8])
  t.strictSame(await ask('somebody-else', 'x'), busy)
  t.strictSame(await ask('holder-0', 'x'), tooMany)
  for (let n = 0; n < 8; n++)
    all.push(ask(`auditor-${n % 2}`, `k${n}`, { path: n % 2 === 0 ? '/review' : '/past/one' }))
  await waiting(56)
  t.strictSame(await ask('somebody-else', 'x', { path: '/review' }), busy)
  t.strictSame(await ask('auditor-1', 'x', { path: '/past/one' }), tooMany)
  const ended = Promise.all(all)
  for (let n = 0; n < 64; n++) {
    await beginning(n + 1)
    begun[n]!.end()
  }
  t.strictSame(
    await ended,
    Array.from({ length: 64 }, () => served),
  )
  t.strictSame([await metric('running'), await metric('waiting'), await metric('refused_total')], [0, 0, 4])
})

await t.test('a holder with four running reads of past states can still make two access reviews', async (t) => {
  const { ask, begun, beginning } = await serving(t)
  // Tokens that the auditor created count with the auditor's own.
  const all = Array.from({ length: 4 }, (_, n) => ask(`auditor#${n}`, `r${n}`))
  await beginning(4)
  t.strictSame(await ask('auditor#5', 'x', { path: '/past/one' }), tooMany)
  for (let n = 0; n < 2; n++) all.push(ask('auditor', `k${n}`, { path: '/review' }))
  await beginning(6)
  t.strictSame(await ask('auditor', 'x', { path: '/review' }), tooMany)
  t.strictSame(await ask('auditor', 'x'), tooMany)
  for (const reading of begun) reading.end()
  t.strictSame(
    await Promise.all(all),
    Array.from({ length: 6 }, () => served),
  )
})

const few = { running: 1, all: 64, each: 4, reviews: 0, kept: 0, withinMs: 10_000 }

await t.test('holders of tokens take turns when they read past states', async (t) => {
  const { ask, begun, beginning, waiting } = await serving(t, few)
  const all: Promise<unknown>[] = []
  for (const [n, [token, name]] of [
    ['many', 'a'],
    ['many', 'b'],
    ['many', 'c'],
    ['many', 'd'],
    ['one', 'x'],
    ['two', 'y'],
  ].entries()) {
    all.push(ask(token!, name!))
    await beginning(1)
    await waiting(n)
  }
  for (let n = 0; n < 6; n++) {
    await beginning(n + 1)
    begun[n]!.end()
  }
  await Promise.all(all)
  t.strictSame(
    begun.map(({ name }) => name),
    ['a', 'b', 'x', 'y', 'c', 'd'],
  )
})

await t.test('a read of a past state that takes too long is ended, whether it runs or waits', async (t) => {
  for (const name of ['hang', 'slow']) {
    const { clock, ask, begun, named, metric, told, beginning, waiting } = await serving(t, few)
    const [one, two] = [ask('one', 'first'), ask('one', 'second')]
    await beginning(1)
    await waiting(1)
    const third = ask('one', 'waits')
    await waiting(2)
    await clock.advance(1)
    const runs = ask('two', name)
    await waiting(3)
    for (const n of [0, 1]) {
      await beginning(n + 1)
      begun[n]!.end()
    }
    t.strictSame(await Promise.all([one, two]), [served, served])
    await beginning(1, name)
    t.strictSame([await metric('running'), await metric('waiting')], [1, 1])
    await clock.advance(9_998)
    t.strictSame(told, [200, 200], 'none is ended before ten seconds are over')
    await clock.advance(1)
    t.strictSame([await third, told.length, named('waits').length], [tooLong, 3, 0], 'one that waits for its turn')
    await clock.advance(1)
    t.strictSame([await runs, told.length], [tooLong, 4], 'one that runs')
    t.strictSame([await metric('running'), await metric('waiting')], [0, 0], 'and there is a place again')
    const [ended] = named(name)
    ended!.step()
    await clock.settle()
    t.equal(ended!.steps, name === 'hang' ? 2 : 1, 'nothing is read any more for one that hears of it')
    const next = ask('one', 'next')
    await beginning(1, 'next')
    named('next')[0]!.end()
    t.strictSame(await next, served)
  }
})

await t.test('a read of a past state may take ten seconds by default', async (t) => {
  const { clock, ask, told, beginning } = await serving(t)
  const asked = ask('one', 'hang')
  await beginning(1)
  await clock.advance(9_999)
  t.strictSame(told, [])
  await clock.advance(1)
  t.strictSame([await asked, told], [tooLong, [504]])
})

await t.test('a read of a past state stops if its client disconnects', async (t) => {
  const { ask, named, told, log, metric, beginning, waiting } = await serving(t, few)
  const [gone, goneToo] = [new AbortController(), new AbortController()]
  const asked = ask('one', 'left', { signal: gone.signal })
  await beginning(1, 'left')
  const second = ask('two', 'never', { signal: goneToo.signal })
  await waiting(1)
  goneToo.abort()
  await t.rejects(second, { name: 'AbortError' })
  await eventually(() => told.length === 1, 'the end of the request')
  gone.abort()
  await t.rejects(asked, { name: 'AbortError' })
  await eventually(() => told.length === 2, 'the end of the other')
  const [left] = named('left')
  t.equal(await metric('running'), 1, 'it runs until it hears of it')
  left!.step()
  await eventually(async () => (await metric('running')) === 0, 'the end of the reading')
  t.equal(left!.steps, 1, 'and takes no step more')
  t.strictSame([told, log, named('never').length], [[499, 499], [], 0])
  t.strictSame([await metric('running'), await metric('waiting')], [0, 0])
})

await t.test('a read of a past state counts for its holder until it ends, even without its client', async (t) => {
  const { clock, ask, told, beginning } = await serving(t, { ...few, each: 1, withinMs: 8_000 })
  const gone = new AbortController()
  const asked = ask('one', 'hang', { signal: gone.signal })
  await beginning(1, 'hang')
  gone.abort()
  await t.rejects(asked)
  await eventually(() => told.length === 1, 'the end of the request')
  t.strictSame(await ask('one', 'next'), tooMany, 'it has not stopped')
  await clock.advance(7_999)
  t.strictSame(await ask('one', 'next'), tooMany, 'its time is not over')
  await clock.advance(1)
  t.match(await ask('one', 'now'), { status: 500 }, 'it is over')
})

await t.test('a finished read of a past state frees its share of the limit, also after an error', async (t) => {
  const { ask, begun, named, metric, beginning } = await serving(t, { ...few, each: 1 })
  const outcomes: Readonly<Record<string, readonly [error: Error | undefined, status: number]>> = {
    answered: [undefined, 200],
    refused: [new Refusal('not_found'), 404],
    failed: [new Error('a defect'), 500],
  }
  for (const [name, [error, status]] of Object.entries(outcomes)) {
    const asked = ask('one', name)
    await beginning(1, name)
    named(name)[0]!.end(error)
    t.match(await asked, { status }, name)
    t.match(await ask('one', 'now'), { status: 500 }, 'and one that fails at once')
  }
  t.strictSame([begun.length, await metric('running'), await metric('seconds_count')], [3, 0, 6])
})

await t.test('many reads of past states on one connection leave no listeners', async (t) => {
  const { app, port, begun, told, metric, beginning } = await serving(t, { ...few, running: 40 })
  const warnings: string[] = []
  const warn = ({ name }: Error) => void warnings.push(name)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  const requests = Array.from(
    { length: 40 },
    (_, n) => `GET /past?at=1&name=n${n} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${n % 10}\r\n\r\n`,
  )
  let received = ''
  client.on('data', (bytes) => (received += String(bytes)))
  const [socket] = [...app.sockets]
  const before = socket!.listenerCount('close')
  client.write(requests.join(''))
  for (let n = 0; n < 40; n++) {
    await beginning(n + 1)
    t.equal(begun.length, n + 1, 'one after another')
    begun[n]!.end()
  }
  await eventually(() => received.split('HTTP/1.1 200').length === 41, 'forty answers')
  await eventually(() => socket!.listenerCount('close') <= before, 'a connection with nothing left on it')
  t.strictSame(warnings, [])
  client.write(requests.slice(0, 20).join(''))
  await beginning(41)
  client.destroy()
  await eventually(() => told.length === 41, 'the end of the request')
  begun[40]!.step()
  await eventually(async () => (await metric('running')) === 0, 'the end of all readings')
  t.strictSame([told[40], begun[40]!.steps, begun.length], [499, 1, 41], 'those behind it are not begun')
})

await t.test('the limit of reads of past states applies to every route with the parameter "at"', async (t) => {
  const service = await startService(t)
  const { request } = service
  await request('POST', '/api/v1/flags', { key: 'f', name: 'f' })
  type Described = { readonly parameters: readonly { readonly name: string }[]; readonly responses: object }
  const { json } = await request<{ paths: Record<string, Record<string, Described>> }>('GET', '/openapi.json')
  let routes = 0
  for (const [path, verbs] of Object.entries(json.paths))
    for (const [verb, { parameters, responses }] of Object.entries(verbs)) {
      if (!parameters.some(({ name }) => name === 'at')) continue
      const ask = path.replace('{category}', 'namespace').replaceAll(/\{\w+\}/g, 'default')
      const body = verb === 'post' ? { flagKey: 'f', entityId: 'e', requests: [] } : undefined
      const { status } = await request(verb.toUpperCase(), `${ask}?at=1&right=flag.read`, body)
      t.ok(status === 200 || status === 404, `${verb} ${path}: ${status}`)
      t.match(responses, { 429: /./, 503: /./, 504: /./ }, `${verb} ${path}`)
      routes++
    }
  t.ok(routes > 20)
  await request('GET', '/api/v1/flags')
  const page = await service.metrics()
  t.equal(Number(/^rollcall_past_reads_seconds_count (.*)$/m.exec(page)?.[1]), routes)
})
