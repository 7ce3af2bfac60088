import { randomBytes, randomUUID } from 'node:crypto'
import { type EventData, EventStoreDBClient } from '@eventstore/db-client'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { canonical } from '../../src/base/canonical.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { NewEvent } from '../../src/events/log.ts'
import { unreadableOf } from '../../src/events/unreadable.ts'
import { collect, happened, refused } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

const open = async (t: Test) => {
  const server = await startEventStore()
  const log = await openEventStore(server.url, {
    clock: systemClock,
    prefix: '',
    categories: ['test'],
    onError: (_, error) => t.fail('no error', { error }),
  })
  const client = EventStoreDBClient.connectionString(server.url)
  t.teardown(async () => {
    await client.dispose()
    await log.close()
    server.kill()
  })
  return { log, client, counts: server.counts }
}
const fresh = () => `test-${randomUUID()}`
const credentials = { username: 'admin', password: 'changeit' }

const json = fc.dictionary(
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('__proto__', 'constructor', 'toJSON', '10', '9', '', '-1', 'é', '😀', '\ud800'),
  ),
  fc.jsonValue({ stringUnit: 'binary' }),
)
const texts = fc.record({
  data: json.map(canonical),
  meta: json.map(canonical),
  time: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
})

void t.test('an event is read back from EventStoreDB byte for byte', async (t) => {
  const { log } = await open(t)
  await fc.assert(
    fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 20 }), async (all) => {
      const stream = fresh()
      const given = all.map(
        ({ data, meta, time }): NewEvent => ({
          id: randomUUID(),
          type: 'Happened',
          time: time.toISOString(),
          data,
          meta,
        }),
      )
      const { positions } = await log.append(stream, given, 'none')
      const expected = given.map((event, n) => ({ ...event, stream, revision: BigInt(n), position: positions[n]! }))
      t.strictSame(await collect(log.read(stream)), expected)
    }),
    { numRuns: 60 },
  )
})

void t.test('JSON texts that are not canonical are read back unchanged', async (t) => {
  const { log } = await open(t)
  const stream = fresh()
  const data = [
    '{"b":1,"a":2}',
    '{"2":0,"1":0}',
    '{ "n" : 1.50 }',
    '{"a":1,"a":2}',
    '{"n":1e400}',
    '{"n":-0}',
    '{"s":"\\u0041"}',
    '{"n":12345678901234567890}',
  ]
  const given = data.map((text) => ({ ...happened(0), data: text, meta: text }))
  await log.append(stream, given, 'none')
  t.same(
    (await collect(log.read(stream))).map(({ data, meta }) => [data, meta]),
    data.map((text) => [text, text]),
  )
})

void t.test('EventStoreDB stores events as JSON, with correlation and causation ids in their own fields', async (t) => {
  const { log, client } = await open(t)
  const stream = fresh()
  const meta = canonical({ schema: 1, correlationId: 'request-1', causationId: 'event-1', actor: { kind: 'system' } })
  const event = { ...happened(1), meta }
  await log.append(stream, [event], 'none')
  for await (const { event: kept } of client.readStream(stream)) {
    t.same(kept!.isJson, true)
    t.same(kept!.data, { n: 1 })
    t.same(kept!.metadata, {
      $correlationId: 'request-1',
      $causationId: 'event-1',
      time: event.time,
      meta: JSON.parse(meta),
    })
  }
})

void t.test('large events are stored completely', async (t) => {
  const { log, client } = await open(t)
  const stream = fresh()
  // The largest attachment of a variant, made of incompressible characters, with every quote escaped twice.
  const noise = Array.from(randomBytes(1_024_000 - 10), (byte) => String.fromCharCode(32 + (byte % 95)))
  const attachment = JSON.stringify({ a: noise.join('') }).slice(0, 1_024_000)
  const given = [{ ...happened(1), data: canonical({ attachment }) }]
  t.ok(given[0]!.data.length > 1_048_576, `${given[0]!.data.length} characters`)
  const { positions } = await log.append(stream, given, 'none')
  t.strictSame(await collect(log.read(stream)), [{ ...given[0], stream, revision: 0n, position: positions[0] }])
  const [small, edge, above] = [1, 65_536, 65_537].map((size) => ({
    ...happened(1),
    data: canonical({ n: 'x'.repeat(Math.max(0, size - 8)) }),
  }))
  await log.append(stream, [small!, edge!, above!], 0n)
  const kinds: boolean[] = []
  for await (const { event } of client.readStream(stream)) kinds.push(event!.isJson)
  t.same(kinds, [false, true, true, false])
})

void t.test('an append beyond the size limit of the server is refused, and no event of it is written', async (t) => {
  const { log } = await open(t)
  const stream = fresh()
  const huge = { ...happened(1), data: canonical({ n: randomBytes(1_100_000).toString('base64') }) }
  await refused(t, log.append(stream, [huge], 'none'), 'body_too_large')
  const large = Array.from({ length: 17 }, () => ({ ...happened(1), data: canonical({ n: 'x'.repeat(64_000) }) }))
  await refused(t, log.append(stream, large, 'none'), 'body_too_large')
  t.same(await collect(log.read(stream)), [])
  t.equal(await log.head(), 0n)
})

void t.test('data, metadata and type of an event count towards the size limit', async (t) => {
  const { log, counts } = await open(t)
  const type = 'Ünhappened'
  const meta = canonical({ schema: 1, correlationId: 'request-1', actor: { kind: 'client', name: 'ä'.repeat(500) } })
  const event = (bytes: number): NewEvent => ({
    ...happened(1),
    type,
    meta,
    data: canonical({ n: 'x'.repeat(bytes - 8) }),
  })
  const { id: _id, time } = event(8)
  const metadata = JSON.stringify({ $correlationId: 'request-1', time, meta: JSON.parse(meta) as object })
  const beside = Buffer.byteLength(metadata) + 2 * type.length
  const room = 1_048_576
  // Each case fills an append to the last byte: few large events, many small ones, events that are mostly metadata.
  for (const size of [30_000, 4_000, 8]) {
    const most = Math.floor(room / (size + beside))
    const events = Array.from({ length: most - 1 }, () => event(size))
    const last = room - (most - 1) * (size + beside) - beside
    const before = counts.append
    await refused(t, log.append(fresh(), [...events, event(last + 1)], 'none'), 'body_too_large')
    t.equal(counts.append, before, 'the server was not asked')
    const stream = fresh()
    await log.append(stream, [...events, event(last)], 'none')
    t.equal((await collect(log.read(stream))).length, most)
  }
})

const foreign = (type: string, data: EventData['data'], binary = false) =>
  ({
    id: randomUUID(),
    type,
    contentType: binary ? 'application/octet-stream' : 'application/json',
    data,
    metadata: undefined,
  }) as EventData

void t.test('the event log does not contain streams, links and metadata of other applications', async (t) => {
  const { log, client } = await open(t)
  const stream = fresh()
  const write = (name: string, ...events: EventData[]) => client.appendToStream(name, events, { credentials })
  await write('$stats-0.0.0.0', foreign('$statsCollected', {}))
  t.equal(await log.head(), 0n)
  const first = await log.append(stream, [happened(1)], 'none')
  await write('other-1', foreign('Happened', { n: 9 }))
  await write('testing-1', foreign('Happened', { n: 9 }))
  await write('test', foreign('Happened', { n: 9 }))
  await write('$ce-test', foreign('$>', Buffer.from(`0@${stream}`), true))
  for (let n = 0; n < 40; n++) await write('$stats-0.0.0.0', foreign('$statsCollected', {}))
  t.equal(await log.head(), first.positions[0])
  const second = await log.append(stream, [happened(2)], 0n)
  t.equal(await log.head(), second.positions[0])
  t.same(
    (await collect(log.readAll(0n))).map(({ data }) => data),
    ['{"n":1}', '{"n":2}'],
  )
  await t.rejects(log.append('other-2', [happened(1)], 'none'), /does not begin with a known category of streams/)
})

void t.test('an event of another application in a stream of the log is returned, not skipped', async (t) => {
  const { log, client } = await open(t)
  const stream = fresh()
  await log.append(stream, [happened(1)], 'none')
  await client.appendToStream(stream, [foreign('Odd', { n: 1 }), foreign('Odd', Buffer.from([0, 255]), true)], {
    credentials,
  })
  const events = await collect(log.read(stream))
  t.same(
    events.map(({ type, data, meta }) => [type, data, meta]),
    [
      ['Happened', '{"n":1}', happened(1).meta],
      ['Odd', '{"n":1}', '{}'],
      ['Odd', '"AP8="', '{}'],
    ],
  )
  t.match(events[1]!.time, /^\d{4}-\d\d-\d\dT/)
})

void t.test('a read of a truncated stream returns the gap, and a read of a deleted stream fails', async (t) => {
  const { log, client } = await open(t)
  const [cut, buried, gone] = [fresh(), fresh(), fresh()]
  for (const stream of [cut, buried, gone])
    await log.append(
      stream,
      [0, 1, 2].map((n) => happened(n)),
      'none',
    )
  await client.setStreamMetadata(cut, { truncateBefore: 2 }, { credentials })
  t.strictSame(
    (await collect(log.read(cut))).map(({ revision }) => revision),
    [2n],
    'never a shorter history that looks whole',
  )
  await log.append(cut, [happened(3)], 2n)
  await client.tombstoneStream(buried)
  const refused: unknown = await collect(log.read(buried)).catch((error: unknown) => error)
  t.match(unreadableOf(refused), { stream: buried, why: /deleted/ })
  await t.rejects(log.append(buried, [happened(4)], 2n), /deleted/)
  await client.deleteStream(gone)
  await t.rejects(log.append(gone, [happened(4)], 'none'), /deleted or truncated/)
})
