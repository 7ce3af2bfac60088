import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { meaningsOf } from '../../src/access/grants.ts'
import { FULL, type Reach, reachOf } from '../../src/access/reach.ts'
import { bitOf } from '../../src/access/rights.ts'
import { BUILT_IN } from '../../src/access/roles.ts'
import { Refusal } from '../../src/base/errors.ts'
import { fairGate } from '../../src/base/gate.ts'
import { audienceOf } from '../../src/http/streams/audience.ts'
import { flagConfigSeen, hasPresentState } from '../../src/http/streams/flag-state.ts'
import { type Audience, flagStreams } from '../../src/http/streams/flag-streams.ts'
import { streamTickets } from '../../src/http/streams/tickets.ts'
import type { Content } from '../../src/http/streams/topics.ts'
import { virtualClock } from '../virtual-clock.ts'

const BYTES_KEPT = 262_144
/** Size in bytes of the snapshot of 20,000 flags without rules. */
const MANY_FLAGS = 20_000 * 150
const COMMENT = ': still here\n\n'
const caller = { actor: { kind: 'token', id: 'engine' }, via: 'bearer' } as const
const allowed: Audience = { key: 'all', isAllowed: () => true }

/** A response on a connection in memory, whose client reads only while `reads` is true. */
const client = () => {
  const [unread, frames]: [(() => void)[], number[]] = [[], []]
  let [reads, comments] = [true, 0]
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      const number = /^#(\d+);/.exec(String(chunk.subarray(0, 20)))?.[1]
      if (number !== undefined) frames.push(Number(number))
      if (String(chunk).includes(COMMENT)) comments++
      if (reads) done()
      else unread.push(done)
    },
  }) as unknown as Socket
  const response = new ServerResponse(new IncomingMessage(socket))
  response.assignSocket(socket)
  response.once('finish', () => socket.destroy())
  response.flushHeaders()
  return {
    response,
    /** Numbers of the received frames. */
    frames: (): readonly number[] => frames,
    comments: () => comments,
    stop: () => void (reads = false),
    read: () => {
      reads = true
      for (const done of unread.splice(0)) done()
    },
    kept: () => response.writableLength,
    isClosed: () => socket.destroyed,
    close: () => void socket.destroy(),
  }
}

/** Streams about one namespace, whose frames have a number and a size. */
const streams = (kind: Content['kind'], bytes: number, memory = Infinity) => {
  const clock = virtualClock()
  const [state, errors] = [{ number: 0, built: 0, isFresh: true }, [] as unknown[]]
  const open = flagStreams({
    clock,
    limits: { most: 10, perCredential: 5, perAddress: 2 },
    fresh: () => state.isFresh,
    onError: (error) => errors.push(error),
  })
  const answers = fairGate({ total: memory })
  const room = (size: number) => answers.takeNow({ holder: 'engine' }, size)
  const rest = Buffer.alloc(bytes, ' ')
  const content: Content = {
    key: kind,
    namespace: 'default',
    kind,
    alive: Buffer.from(COMMENT),
    frame: async () => {
      state.built++
      return { name: String(state.number), chunks: [Buffer.concat([Buffer.from(`#${state.number};`), rest])] }
    },
  }
  return {
    open,
    clock,
    state,
    errors,
    content,
    /** Bytes of the memory that snapshots take. */
    held: () => answers.held(),
    listen: async (audience = allowed) => {
      const listener = client()
      open.open(listener.response, { ...open.enter(caller, '192.0.2.1', 'one'), room }, content, audience, false)
      await clock.settle()
      return listener
    },
    change: async (ms = 50) => {
      state.number++
      open.changed('default')
      await clock.advance(ms)
    },
  }
}
const upTo = (last: number) => Array.from({ length: last + 1 }, (_, n) => n)

await t.test('a client that reads no events is cut at a limit, and others miss nothing', async (t) => {
  const { open, listen, change, state } = streams('events', 1_024)
  const [reader, pausing, stuck] = [await listen(), await listen(), await listen()]
  stuck.stop()
  let kept = 0
  for (let n = 1; !stuck.isClosed() && n < 2_000; n++) {
    if (n % 2 === 1) pausing.stop()
    else pausing.read()
    await change()
    kept = Math.max(kept, stuck.kept())
  }
  t.ok(kept >= BYTES_KEPT && kept <= BYTES_KEPT + 2 * 1_024, `${kept} bytes are kept`)
  t.same(reader.frames(), upTo(state.number))
  t.notOk(pausing.isClosed(), 'a client that reads late is not cut')
  pausing.read()
  t.same(pausing.frames(), upTo(state.number))
  t.match(open.counts.events, { open: 2, slow: 1 })
})

await t.test('a client that reads late has one snapshot in memory, and receives the newest afterwards', async (t) => {
  const { listen, change, state, clock, held } = streams('snapshots', 300_000)
  const [reader, late] = [await listen(), await listen()]
  late.stop()
  for (let n = 1; n <= 5; n++) await change()
  t.same(reader.frames(), upTo(state.number))
  t.same(late.frames(), [0, 1])
  t.ok(late.kept() <= 300_100, `${late.kept()} bytes are kept`)
  t.ok(held() >= 300_000 && held() <= 300_100, `memory for one snapshot is taken: ${held()} bytes`)
  late.read()
  await clock.settle()
  t.same(late.frames(), [0, 1, 5], 'the newest follows')
  t.equal(held(), 0)
  late.stop()
  await change()
  late.close()
  await clock.settle()
  t.equal(held(), 0, 'a closed stream returns its memory')
})

await t.test('a stream that ends during a snapshot is cut, and other streams end', async (t) => {
  const { open, listen, change, clock } = streams('snapshots', 300_000)
  const [late, reader] = [await listen(), await listen()]
  late.stop()
  await change()
  let isCut = true
  late.response.once('finish', () => (isCut = false))
  reader.response.once('close', () => t.ok(reader.response.writableFinished))
  open.end()
  await clock.settle()
  t.ok(late.isClosed() && isCut, 'no end marks half a snapshot as whole')
  t.ok(reader.isClosed())
})

await t.test('the snapshots of all streams have memory together, and a stream without memory is cut', async (t) => {
  const { open, listen, change, held, state, clock } = streams('snapshots', 300_000, 500_000)
  const late = [await listen(), await listen()]
  for (const { stop } of late) stop()
  await change()
  t.ok(held() < 300_100, 'streams of one state share its memory')
  const reader = await listen()
  await change()
  t.ok(reader.isClosed(), 'a second state does not fit')
  t.match(open.counts.snapshots, { open: 2, slow: 1 })
  late[1]!.close()
  await clock.settle()
  late[0]!.read()
  await clock.settle()
  t.equal(late[0]!.frames().at(-1), state.number)
})

await t.test('a large namespace that changes often is sent at most once a second', async (t) => {
  const { listen, change, state, clock } = streams('snapshots', MANY_FLAGS)
  const all = [await listen(), await listen(), await listen()]
  for (let n = 0; n < 100; n++) await change(100)
  await clock.advance(1_000)
  t.ok(state.built <= 3 + 11, `${state.built} snapshots are built for 100 changes in 10 s`)
  for (const { frames } of all) {
    t.ok(frames().length <= 12, `${frames().length} snapshots`)
    t.equal(frames().at(-1), 100, 'the last state is sent')
  }
})

await t.test('a large state follows the one before after a second', async (t) => {
  const { listen, change, state } = streams('snapshots', MANY_FLAGS)
  await listen()
  t.equal(state.built, 1)
  await change(999)
  t.equal(state.built, 1)
  await change(1)
  t.equal(state.built, 2)
})

await t.test('a stream gets a comment every 20 s', async (t) => {
  const { listen, clock } = streams('events', 100)
  const { comments } = await listen()
  await clock.advance(1_000)
  t.equal(comments(), 1, 'streams get them at different seconds')
  await clock.advance(19_999)
  t.equal(comments(), 1)
  await clock.advance(1)
  t.equal(comments(), 2)
})

await t.test('a ticket is valid on the day before, its own day and the next one', (t) => {
  const DAY = 86_400_000
  const midnight = Date.parse('2026-03-01T00:00:00.000Z')
  let time = midnight
  const tickets = streamTickets(Buffer.alloc(32, 1), () => new Date(time))
  const ticket = tickets.write('engine', 'default')
  for (const [at, isValid] of [
    [midnight - DAY - 1, false],
    [midnight - DAY, true],
    [midnight + 2 * DAY - 1, true],
    [midnight + 2 * DAY, false],
  ] as const) {
    time = at
    t.equal(tickets.read(ticket, 'default'), isValid ? 'engine' : undefined, new Date(at).toISOString())
  }
  t.end()
})

await t.test('a state that another instance announced is awaited for two seconds', async (t) => {
  const waits: unknown[] = []
  const reached = flagConfigSeen({
    flagStore: { version: () => 1n, position: () => 3n },
    log: { head: async () => 9n },
    seen: async (...wait: unknown[]) => waits.push(wait) === 1,
  } as never)
  const ask = async (flagConfigEtag: string) => reached('default', { flagConfigEtag, flagConfigLastModified: '' })
  await ask('1.3')
  t.strictSame(waits, [], 'the present state')
  await ask('1.7')
  await t.rejects(ask('1.8'), new Refusal('view_behind'))
  t.strictSame(waits, [
    [7n, 2_000],
    [8n, 2_000],
  ])
})

await t.test('a Last-Event-ID that another instance sent is awaited for two seconds', async (t) => {
  const waits: unknown[] = []
  let position = 3n
  const states = {
    flagStore: { version: () => 1n, position: () => position },
    log: { head: async () => 9n },
    seen: async (...wait: unknown[]) => {
      waits.push(wait)
      if (waits.length === 2) position = 9n
    },
  } as never
  const ask = (lastEventId: string) => hasPresentState(states, 'default', lastEventId)
  for (const known of ['2', '10', '', '-4', '9'.repeat(20)]) t.equal(await ask(known), false, known)
  t.equal(await ask('3'), true)
  t.strictSame(waits, [], 'no wait for the present or an earlier state, or for one after the newest event')
  t.equal(await ask('4'), false, 'not seen in time')
  t.equal(await ask('9'), true, 'seen in time')
  t.strictSame(waits, [
    [4n, 2_000],
    [9n, 2_000],
  ])
})

await t.test('changes within 50 ms become one frame, which is built once for all clients', async (t) => {
  const { listen, change, state, clock } = streams('events', 100)
  const all = [await listen(), await listen(), await listen()]
  const before = state.built
  for (let n = 0; n < 20; n++) await change(1)
  await clock.advance(29)
  t.equal(state.built, before, '49 ms after the first')
  await clock.advance(1)
  t.equal(state.built, before + 1)
  for (const { frames } of all) t.same(frames(), [0, 20])
})

await t.test('streams end after a second if the instance is not fresh, or their credential has ended', async (t) => {
  const { listen, clock, state, change, errors } = streams('events', 100)
  let isAllowed: () => boolean | Promise<boolean> = () => true
  const ending = { key: 'ending', isAllowed: () => isAllowed() }
  for (const end of [() => false, async () => false, () => Promise.reject(new Error('no answer of the store'))]) {
    const [one, other, stays] = [await listen(ending), await listen(ending), await listen()]
    isAllowed = end
    await clock.advance(999)
    t.notOk(one.isClosed() || other.isClosed(), 'the next check')
    await clock.advance(1)
    t.ok(one.isClosed() && other.isClosed(), 'the credential has ended')
    t.notOk(stays.isClosed(), 'another credential')
    isAllowed = () => true
    stays.close()
    await clock.settle()
  }
  const all = [await listen(ending), await listen()]
  state.isFresh = false
  await clock.advance(999)
  t.notOk(all.some(({ isClosed }) => isClosed()))
  await clock.advance(1)
  t.ok(all.every(({ isClosed }) => isClosed()))
  state.isFresh = true
  const again = await listen()
  await change()
  t.same(again.frames(), [0, 1])
  t.same(errors, [])
})

await t.test('the end of the service closes each stream, and later ones at once', async (t) => {
  const { open, listen } = streams('events', 100)
  const all = [await listen(), await listen()]
  open.end()
  all.push(await listen())
  t.ok(all.every(({ isClosed }) => isClosed()))
  t.equal(open.counts.events.open, 0)
})

await t.test('a state that cannot be given closes the streams, and is reported', async (t) => {
  const { open, clock, errors, content } = streams('snapshots', 100)
  for (const frame of [async () => undefined, () => Promise.reject(new Error('unreadable'))]) {
    const { response, isClosed, frames } = client()
    open.open(response, open.enter(caller, '', 'one'), { ...content, key: String(frame), frame }, allowed, false)
    await clock.settle()
    t.ok(isClosed())
    t.same(frames(), [])
  }
  t.match(errors, [{ message: 'unreadable' }])
})

await t.test('a fault of one stream ends this stream alone, whatever it occurs in', async (t) => {
  const { listen, clock, change, errors } = streams('events', 100)
  const stays = await listen()
  const faults: unknown[] = []
  for (const cause of [() => change(), () => clock.advance(20_000)]) {
    const { response, isClosed } = await listen()
    response.on('error', (error) => faults.push(error) && response.destroy())
    Object.assign(response, { write: () => assert.fail('not written') })
    await cause()
    t.ok(isClosed())
  }
  t.match(faults, [{ message: 'not written' }, { message: 'not written' }])
  const unchecked = await listen({ key: 'unchecked', isAllowed: () => assert.fail('not checked') })
  await clock.advance(1_000)
  t.ok(unchecked.isClosed())
  t.match(errors, [{ message: 'not checked' }])
  await change()
  t.same(stays.frames(), [0, 1, 2])
})

await t.test('publishable tokens and networks leave most streams to other credentials', (t) => {
  const open = flagStreams({
    clock: virtualClock(),
    limits: { most: 1_600, perCredential: 1_200, perAddress: 5 },
    fresh: () => true,
    onError: () => assert.fail(),
  })
  const frontend = (id: string) => ({ ...caller, actor: { kind: 'token', id }, published: true }) as const
  const taken = (
    count: number,
    address: (n: number) => string,
    who: (n: number) => Parameters<typeof open.enter>[0],
    holder = 'one',
  ) => {
    const leases: { readonly free: () => void }[] = []
    try {
      for (let n = 0; n < count; n++) leases.push(open.enter(who(n), address(n), holder))
    } catch (error) {
      assert.match(String(error), /too many requests/)
    }
    return leases
  }
  const of56 = (n: number) => `2001:db8:0:${(n % 200).toString(16)}::1`
  const anywhere = (n: number) => `2001:db8:${n.toString(16)}::1`
  const one = taken(1_600, of56, () => frontend('one'))
  t.equal(one.length, 100, 'one network has a sixteenth')
  for (const { free } of one) free()
  const token = taken(1_600, anywhere, () => frontend('one'))
  t.equal(token.length, 200, 'one publishable token has an eighth')
  t.equal(taken(1_600, anywhere, (n) => frontend(String(n))).length, 200, 'all publishable tokens have a quarter')
  t.equal(
    taken(
      1_600,
      () => '',
      () => caller,
    ).length,
    1_200,
    'a server still has its own share',
  )
  for (const { free } of token) free()
  t.equal(taken(1_600, anywhere, () => frontend('one')).length, 200, 'closed streams leave their place')
  t.end()
})

await t.test('the tokens of one holder leave a quarter of the streams to other holders', (t) => {
  const open = flagStreams({
    clock: virtualClock(),
    limits: { most: 1_600, perCredential: 100, perAddress: 5 },
    fresh: () => true,
    onError: () => assert.fail(),
  })
  const taken = (holder: string) => {
    let n = 0
    try {
      for (; n < 1_600; n++)
        open.enter({ ...caller, actor: { kind: 'token', id: `${holder} ${Math.floor(n / 100)}` } }, '', holder)
    } catch (error) {
      assert.match(String(error), /too many requests/)
    }
    return n
  }
  t.equal(taken('one'), 1_200)
  t.equal(taken('other'), 400)
  t.end()
})

await t.test('1,000 streams that are opened and closed leave nothing behind', async (t) => {
  const { open, listen, change, clock, state } = streams('events', 100)
  for (let n = 0; n < 200; n++) {
    const all = await Promise.all(upTo(4).map(() => listen()))
    t.throws(() => open.enter(caller, '', 'one'), /too many requests/)
    for (const [m, { close, response }] of all.entries())
      if (m % 2 === 0) close()
      else response.end()
    await clock.settle()
  }
  const gone = client()
  gone.close()
  open.open(gone.response, open.enter(caller, '', 'one'), streams('events', 1).content, allowed, false)
  t.equal(open.counts.events.open, 0)
  const before = state.built
  await change()
  t.equal(state.built, before, 'no frame is built for nobody')
  t.same(clock.waiting(), [], 'no timer is left')
  t.same(
    await Promise.all(upTo(4).map(async () => (await listen()).frames())),
    upTo(4).map(() => [1]),
  )
})

await t.test('a stream is allowed while its token has the right of the route in the namespace', async (t) => {
  const roles = meaningsOf(BUILT_IN)
  const reachIn = (place: string, role: string) => reachOf({ grants: [{ place, role }], roles })
  const cases: readonly (readonly [name: string, reach: Reach | undefined, isAllowed: boolean])[] = [
    ['of full access', FULL, true],
    ['of the namespace', reachIn('default', 'client'), true],
    ['of every namespace', reachIn('*', 'client'), true],
    ['narrowed to another namespace', reachIn('other', 'client'), false],
    ['narrowed to other rights', reachOf({ grants: [{ place: 'default', rights: ['flag.read'] }], roles }), false],
    ['that has ended', undefined, false],
  ]
  const need = { right: 'flag.evaluate', bit: bitOf('flag.evaluate') }
  const request = { caller, spec: { wants: { need } } } as unknown as FastifyRequest
  for (const [name, reach, isAllowed] of cases)
    for (const found of [reach && { reach }, Promise.resolve(reach && { reach })]) {
      const services = { verifier: { byId: () => found } } as unknown as Parameters<typeof audienceOf>[0]
      t.equal(await audienceOf(services)(request, 'default').isAllowed(), isAllowed, `a token ${name}`)
    }
})
