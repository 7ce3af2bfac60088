import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { EventLog } from '../../src/events/log.ts'
import { collect, happened } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

const store = async (t: Test) => {
  const server = await startEventStore()
  t.teardown(() => server.kill())
  const open = async (prefix?: string, categories: readonly string[] = ['test', 'other']) => {
    const log = await openEventStore(server.url, {
      clock: systemClock,
      ...(prefix !== undefined && { prefix }),
      categories,
      onError: (_, error) => t.fail('no error', { error }),
    })
    t.teardown(() => log.close())
    return log
  }
  const client = EventStoreDBClient.connectionString(server.url)
  t.teardown(() => client.dispose())
  const names = async () => {
    const found = new Set<string>()
    for await (const { event } of client.readAll()) if (event && !event.type.startsWith('$')) found.add(event.streamId)
    return [...found].toSorted()
  }
  return { open, client, names }
}

void t.test('only EventStoreDB sees the prefix of stream names; the service uses names without it', async (t) => {
  const { open, names } = await store(t)
  const log = await open()
  const { positions } = await log.append('test-1', [happened(1), happened(2)], 'none')
  t.same(await names(), ['rollcall.test-1'])
  const stop = new AbortController()
  const followed = []
  for await (const page of log.follow(0n, stop.signal)) {
    followed.push(...page)
    if (followed.length === 2) stop.abort()
  }
  const seen = [
    ...(await collect(log.read('test-1'))),
    ...(await collect(log.readAll(0n))),
    ...followed,
    await log.at(positions[1]!),
    await log.first(),
  ]
  t.same(new Set(seen.map((event) => event?.stream)), new Set(['test-1']))
  t.equal(seen.length, 8)
})

void t.test('two event logs in one EventStoreDB are isolated from each other', async (t) => {
  const { open, names } = await store(t)
  const [one, other, bare] = [await open('one.'), await open('other.'), await open('')]
  await one.append('test-1', [happened(1)], 'none')
  await other.append('test-1', [happened(2)], 'none')
  await bare.append('test-1', [happened(3)], 'none')
  t.same(await names(), ['one.test-1', 'other.test-1', 'test-1'])
  for (const [log, n] of [
    [one, 1],
    [other, 2],
    [bare, 3],
  ] as const) {
    t.same(
      (await collect(log.readAll(0n))).map(({ data }) => data),
      [`{"n":${n}}`],
    )
    t.equal((await log.first())?.data, `{"n":${n}}`)
  }
})

/** Streams of the first `count` events that a follower receives. */
const streams = async (log: EventLog, count: number) => {
  const stop = new AbortController()
  const followed: string[] = []
  for await (const page of log.follow(0n, stop.signal)) {
    followed.push(...page.map(({ stream }) => stream))
    if (followed.length >= count) stop.abort()
  }
  return followed
}

void t.test('streams of a kind that only a later version knows belong to the log with their prefix', async (t) => {
  const { open } = await store(t)
  for (const [prefix, seen] of [
    ['mine.', ['test-1', 'later-1', 'test-2']],
    ['', ['test-1', 'test-2']],
  ] as const) {
    const [log, ahead] = [await open(prefix), await open(prefix, ['test', 'later'])]
    const followed = streams(log, seen.length)
    await ahead.append('test-1', [happened(1)], 'none')
    const { positions } = await ahead.append('later-1', [happened(2)], 'none')
    t.equal((await log.head()) === positions[0], prefix !== '')
    t.equal((await log.at(positions[0]!))?.stream, prefix === '' ? undefined : 'later-1')
    await ahead.append('test-2', [happened(3)], 'none')
    t.same(
      (await collect(log.readAll(0n))).map(({ stream }) => stream),
      seen,
    )
    t.same(await followed, seen)
    await t.rejects(log.append('later-2', [happened(4)], 'none'), /does not begin with a known category of streams/)
  }
})

void t.test('a log ignores streams whose longer prefix begins with the prefix of this log', async (t) => {
  const { open } = await store(t)
  const [one, other] = [await open('mine.'), await open('mine.eu.')]
  await other.append('test-1', [happened(1)], 'none')
  t.equal(await one.first(), undefined)
  await one.append('test-1', [happened(2)], 'none')
  t.equal((await collect(one.readAll(0n))).length, 1)
  t.equal((await collect(other.readAll(0n))).length, 1)
})

void t.test('an event log under another stream prefix is found, and other applications are ignored', async (t) => {
  const { open, client } = await store(t)
  const foreign = jsonEvent({ type: 'Ordered', data: { n: 1 } })
  await client.appendToStream('test-of-another-application', foreign, {
    credentials: { username: 'admin', password: 'changeit' },
  })
  const ours = await open()
  t.equal(await ours.otherPrefix(), undefined)
  const old = await open('')
  await old.append('test-1', [happened(1)], 'none')
  t.equal(await ours.otherPrefix(), '')
  t.equal(await (await open('mine.')).otherPrefix(), '')
  t.equal(await old.otherPrefix(), undefined, 'its own is none')
  await ours.append('other-1', [happened(2)], 'none')
  t.equal(await old.otherPrefix(), 'rollcall.')
})
