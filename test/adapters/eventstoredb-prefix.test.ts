import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { collect, happened } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

const store = async (t: Test) => {
  const server = await startEventStore()
  t.teardown(() => server.kill())
  const open = async (prefix?: string) => {
    const log = await openEventStore(server.url, {
      ...(prefix !== undefined && { prefix }),
      categories: ['test', 'other'],
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

void t.test('streams carry the prefix in the store, and their short names everywhere else', async (t) => {
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

void t.test('two histories in one store see nothing of each other', async (t) => {
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

void t.test(
  'a history under another prefix is found, streams of other applications are not taken for one',
  async (t) => {
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
  },
)
