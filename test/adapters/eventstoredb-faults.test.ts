import { randomUUID } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { collect, happened, refused } from '../contracts/log.ts'
import type { Faults } from '../stand-ins/eventstoredb/server.ts'
import { failure } from '../stand-ins/eventstoredb/wire.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { following, fresh, ids, open, started } from './eventstoredb-nodes.ts'

/** Interval of comparisons of a silent subscription with the head, and timeout of the delivery after one. */
const SILENT = 500
/** Maximum pause after a drop or a first failure. */
const PAUSE = 100

/** Waits until a silent subscription has been compared with the head, so that the delivery timeout starts. */
const compared = async (clock: VirtualClock) => {
  await clock.advance(SILENT)
  await eventually(() => clock.waiting().filter((ms) => ms === SILENT).length === 2, 'a comparison with the head')
}
/** Waits for a condition and moves the clock through the pauses before retries. */
const comingAgain = (clock: VirtualClock, seen: () => boolean) =>
  eventually(async () => {
    if (clock.waiting().some((ms) => ms <= PAUSE)) await clock.advance(PAUSE)
    return seen()
  }, 'the events')

void t.test('an append whose answer is lost is not repeated, because its events are found in the log', async (t) => {
  let losses = 0
  const codes = [14, 4, 10, 13, 1, 2]
  const faults: Faults = {
    after: () => {
      if (losses >= codes.length) return
      throw failure(codes[losses++]!, 'lost')
    },
  }
  const server = await started(t, faults)
  const { log } = await open(t, server.now().url)
  const stream = fresh()
  for (let n = 0; n < codes.length; n++) {
    const events = [happened(n * 2), happened(n * 2 + 1)]
    const answer = await log.append(stream, events, n === 0 ? 'none' : BigInt(n * 2 - 1))
    const there = await collect(log.read(stream, BigInt(n * 2)))
    t.same(ids(there), ids(events as Stored[]), `code ${codes[n]}`)
    t.same(
      answer.positions,
      there.map(({ position }) => position),
    )
  }
  t.equal(losses, codes.length)
})

void t.test('an append that the server executes late is not written twice', async (t) => {
  let held: (() => void) | undefined
  const faults: Faults = {}
  const server = await started(t, faults)
  const { log } = await open(t, server.now().url)
  const stream = fresh()
  faults.before = (call) => {
    if (call !== 'append' || held) return
    return new Promise<void>((resolve) => (held = resolve))
  }
  const [one, two] = [happened(1), happened(2)]
  const first = log.append(stream, [one], 'none')
  const second = log.append(stream, [two], 0n)
  t.equal((await first).revision, 0n)
  t.equal((await second).revision, 1n)
  t.equal(server.now().counts.read, 0, 'nobody waited for a look at a stream on a server that hangs')
  let late = 0
  faults.after = () => void late++
  held!()
  await eventually(() => late === 1, 'the first append, late')
  t.same(ids(await collect(log.read(stream))), [one.id, two.id])
})

void t.test('appends to a server that does not answer are refused after a time limit, and none is lost', async (t) => {
  const faults: Faults = {}
  const server = await started(t, faults)
  const { log } = await open(t, server.now().url, { deadline: 150, patience: 700 })
  const stream = fresh()
  await log.append(stream, [happened(1)], 'none')
  const release: (() => void)[] = []
  faults.before = () => new Promise<void>((resolve) => release.push(resolve))
  const asked = [log.append(stream, [happened(2)], 0n), collect(log.read(stream)), collect(log.readAll(0n)), log.head()]
  await Promise.all(asked.map((one) => refused(t, one, 'backend_unavailable')))
  delete faults.before
  for (const go of release) go()
  t.equal((await collect(log.read(stream))).length >= 1, true)
})

void t.test('repeated kills under load neither lose nor duplicate an acknowledged event', async (t) => {
  const server = await started(t)
  const { log } = await open(t, server.now().url, { deadline: 1000, patience: 10_000 })
  const seen = following(t, log)
  const streams = Array.from({ length: 6 }, fresh)
  const acknowledged = new Map<string, string[]>()
  const stop = new AbortController()
  const writers = streams.map(async (stream) => {
    const mine: string[] = []
    acknowledged.set(stream, mine)
    while (!stop.signal.aborted) {
      const events = [happened(mine.length), happened(mine.length + 1)]
      const { revision } = await log.append(stream, events, mine.length === 0 ? 'none' : BigInt(mine.length - 1))
      mine.push(...events.map(({ id }) => id))
      t.equal(revision, BigInt(mine.length - 1))
    }
  })
  const appends = (count: number) => {
    const { counts } = server.now()
    const enough = counts.append + count
    return eventually(() => counts.append >= enough, `${count} appends`)
  }
  for (let n = 1; n <= 3; n++) {
    await appends(10 * n)
    server.now().kill()
    await server.restart()
  }
  await appends(10)
  stop.abort()
  await Promise.all(writers)
  const total = [...acknowledged.values()].reduce((sum, { length }) => sum + length, 0)
  t.ok(total > 12, `${total} events`)
  for (const [stream, mine] of acknowledged) t.same(ids(await collect(log.read(stream))), mine)
  await eventually(() => seen.length >= total, 'the events')
  t.same(ids(seen), ids(await collect(log.readAll(0n))), 'the follower had everything once and in order')
  t.equal(seen.length, total)
  t.equal(server.now().counts.batchAppend, 0, 'the append that can hang for ever is never used')
})

void t.test('a subscription that the server dropped continues after its last event without an error', async (t) => {
  const server = await started(t)
  const clock = virtualClock()
  const { log, errors } = await open(t, server.now().url, { clock })
  const seen = following(t, log)
  const stream = fresh()
  for (let n = 0; n < 30; n++) {
    await log.append(stream, [happened(n)], n === 0 ? 'none' : BigInt(n - 1))
    if (n % 5 > 0) continue
    await comingAgain(clock, () => seen.length > n)
    server.now().drop()
  }
  const burst = Array.from({ length: 1500 }, (_, n) => happened(30 + n))
  await log.append(stream, burst, 29n)
  await comingAgain(clock, () => seen.length >= 1530)
  t.same(
    seen.map(({ revision }) => revision),
    Array.from({ length: 1530 }, (_, n) => BigInt(n)),
  )
  t.ok(server.now().counts.subscribe > 2, `${server.now().counts.subscribe} subscriptions`)
  t.same(errors, [])
})

void t.test('a subscription without events is compared with the end of the log, and replaced if behind', async (t) => {
  const server = await started(t)
  const clock = virtualClock()
  const { log, errors } = await open(t, server.now().url, { clock })
  const stream = fresh()
  const seen = following(t, log)
  await log.append(stream, [happened(1)], 'none')
  await eventually(() => seen.length === 1 && server.now().counts.subscribe > 0, 'the events')
  await log.append(stream, [happened(2)], 0n)
  await eventually(() => seen.length === 2, 'the events')
  server.now().silence(true)
  await log.append(stream, [happened(3)], 1n)
  await compared(clock)
  await clock.advance(SILENT - 1)
  t.same([seen.length, errors], [2, []], 'an event may take so long')
  await clock.advance(1)
  await comingAgain(clock, () => seen.length === 3)
  t.equal(errors.length, 1)
})

void t.test('a slow reader receives every event and does not block others', async (t) => {
  const server = await started(t)
  const { log } = await open(t, server.now().url, { deadline: 2000, patience: 10_000 })
  const stream = fresh()
  const stop = new AbortController()
  const seen: Stored[] = []
  let [began, finish] = [() => {}, () => {}]
  const first = new Promise<void>((told) => (began = told))
  const written = new Promise<void>((told) => (finish = told))
  const reading = (async () => {
    for await (const page of log.follow(0n, stop.signal)) {
      began()
      await written
      seen.push(...page)
      if (seen.length >= 3000) stop.abort()
    }
  })()
  for (let n = 0; n < 3000; n += 300) {
    const events = Array.from({ length: 300 }, (_, k) => happened(n + k))
    await log.append(stream, events, n === 0 ? 'none' : BigInt(n - 1))
    await first
  }
  finish()
  await reading
  t.same(
    seen.map(({ revision }) => revision),
    Array.from({ length: 3000 }, (_, n) => BigInt(n)),
  )
})

void t.test('an error "wrong version" is ignored if a read of the stream does not confirm it', async (t) => {
  const server = await started(t)
  const { log } = await open(t, server.now().url)
  const stream = fresh()
  await log.append(stream, [happened(1)], 'none')
  // A leader that lost its followers checks against an event that is not replicated and disappears.
  const { law } = server.now()
  const real = law.append
  let lies = 3
  Object.assign(law, {
    append: (...given: Parameters<typeof real>) =>
      given[1] === 0n && lies-- > 0 ? { wrong: 0n, current: 1n } : real(...given),
  })
  const event = happened(2)
  t.equal((await log.append(stream, [event], 0n)).revision, 1n)
  t.same(ids(await collect(log.read(stream, 1n))), [event.id])
  t.ok(lies < 0)
})

/** Proxy that can swallow data of existing connections while new ones work. */
const road = async (t: Test, port: number) => {
  const sockets = new Set<Socket>()
  const swallowed = new WeakSet<Socket>()
  const between = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => swallowed.has(near) || to.write(bytes))
      from.on('close', () => swallowed.has(near) || to.destroy())
      from.on('error', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    between.close()
  })
  const { port: bound } = between.address() as { port: number }
  return {
    url: `esdb://127.0.0.1:${bound}?tls=false`,
    swallow: () => {
      for (const socket of sockets) swallowed.add(socket)
    },
  }
}

void t.test('a hanging connection is replaced after two timeouts', async (t) => {
  const server = await started(t)
  const { url, swallow } = await road(t, server.now().port)
  const { log } = await open(t, url, { deadline: 200, patience: 8000 })
  const stream = fresh()
  const seen = following(t, log)
  await log.append(stream, [happened(1)], 'none')
  await eventually(() => seen.length === 1, 'the events')
  swallow()
  t.equal((await log.append(stream, [happened(2)], 0n)).revision, 1n)
  await eventually(() => seen.length === 2, 'the events')
  t.equal(seen.length, 2, 'the follower left the hung connection too')
})

void t.test('a server that dies does not affect the connection to another server', async (t) => {
  const [dying, healthy] = [await started(t), await started(t)]
  const [one, two] = [await open(t, dying.now().url, { patience: 300 }), await open(t, healthy.now().url)]
  const lost = Array.from({ length: 40 }, () => one.log.append(fresh(), [happened(1)], 'none').catch(() => 'refused'))
  const kept = Array.from({ length: 40 }, () => two.log.append(fresh(), [happened(1)], 'none'))
  dying.now().kill()
  await Promise.all(lost)
  for (const { revision } of await Promise.all(kept)) t.equal(revision, 0n)
  await refused(t, one.log.append(fresh(), [happened(1)], 'none'), 'backend_unavailable')
})

void t.test('a subscription to the log can start at any position, even at one without an event', async (t) => {
  const server = await started(t)
  const { log, errors } = await open(t, server.now().url, { clock: virtualClock() })
  const stream = fresh()
  const { positions } = await log.append(
    stream,
    [0, 1, 2].map((n) => happened(n)),
    'none',
  )
  const [first, , last] = positions as [bigint, bigint, bigint]
  const begun = [0n, first - 1n, first, first + 1n, last - 1n, last, last + 1n].map((after) => ({
    after,
    seen: following(t, log, after),
  }))
  await eventually(() => begun[0]!.seen.length === 3, 'the events')
  await log.append(stream, [happened(3)], 2n)
  await eventually(() => begun.every(({ seen }) => seen.at(-1)?.revision === 3n), 'the events')
  t.same(
    begun.map(({ seen }) => seen.map(({ revision }) => Number(revision)).join('')),
    ['0123', '0123', '123', '123', '23', '3', '3'],
  )
  t.same(errors, [])
})

void t.test('concurrent appends over the limit are refused, and the others complete', async (t) => {
  const server = await started(t)
  const { log } = await open(t, server.now().url, { deadline: 2000, patience: 10_000, inFlight: 200 })
  const all = await Promise.allSettled(
    Array.from({ length: 210 }, (_, n) => log.append(fresh(), [happened(n)], 'none')),
  )
  const failed = all.filter(({ status }) => status === 'rejected')
  t.equal(failed.length, 10)
})

void t.test('closing the log waits for pending appends and refuses later ones', async (t) => {
  const server = await started(t)
  const { log } = await open(t, server.now().url)
  const stream = fresh()
  const under = log.append(stream, [happened(1)], 'none')
  await eventually(() => server.now().counts.append === 1, 'the append')
  await log.close()
  const outcome = await under.then(
    ({ revision }) => revision,
    (error: { reason?: string }) => error.reason,
  )
  t.ok(outcome === 0n || outcome === 'backend_unavailable')
  await refused(t, log.append(stream, [happened(2)], 0n), 'backend_unavailable')
  await refused(t, collect(log.read(stream)), 'backend_unavailable')
  for await (const _ of log.follow(0n, new AbortController().signal)) t.fail('a closed log has no followers')
})

void t.test('many large events of other applications do not delay a subscription to the log', async (t) => {
  const server = await started(t)
  const clock = virtualClock()
  const { log, errors } = await open(t, server.now().url, { clock })
  const { law, counts } = server.now()
  const foreign = (bytes: number) => ({
    id: randomUUID(),
    type: 'Elsewhere',
    contentType: 'application/octet-stream',
    data: Buffer.alloc(bytes),
    metadata: new Uint8Array(),
  })
  const stream = fresh()
  const seen = following(t, log)
  await log.append(stream, [happened(1)], 'none')
  await eventually(() => seen.length === 1 && counts.subscribe > 0, 'the events')
  // The log's event is the only one of its kind, far from the end; a foreign event has the maximum size.
  law.append('other-1', 'any', [foreign(16 * 1_048_576)])
  for (let n = 0; n < 30; n++)
    law.append(
      'other-1',
      'any',
      Array.from({ length: 100 }, () => foreign(10)),
    )
  t.equal(await log.head(), seen[0]!.position)
  // The subscription is compared with the head several times. A drop caused by foreign events is followed by a retry.
  while (clock.monotonic() < 8 * SILENT) {
    await clock.advance(PAUSE)
    t.equal(await log.head(), seen[0]!.position)
  }
  t.same(errors, [])
  await log.append(stream, [happened(2)], 0n)
  await comingAgain(clock, () => seen.length === 2)
  server.now().drop()
  await log.append(stream, [happened(3)], 1n)
  await comingAgain(clock, () => seen.length === 3)
  t.same(
    (await collect(log.readAll(0n))).map(({ revision }) => revision),
    [0n, 1n, 2n],
  )
  t.equal(seen.length, 3)
  t.same(errors, [])
})
