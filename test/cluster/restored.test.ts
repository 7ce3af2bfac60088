import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { FLAGS, lines, names, onStack, own, ready, refusedStart, written } from './restoring.ts'
import { type Bearer, becomes, issue, revoke, startTwo as startStill, use } from './revoking.ts'
import { type Controls, type Stack, startStack } from './stack.ts'

type Copy = ReturnType<Controls['eventstore']['copy']>

import { walkingClock } from '../walking-clock.ts'

/** Servers return with other data: under running instances, and between a stop and a start. */
const ended = async (service: Started) => (await service.logged()).includes('"msg":"rollcall has stopped"')
/** Waits until the service has ended by itself. */
const ends = (service: Started) => eventually(() => ended(service), 'the end of a service')
/** Starts two instances with running clocks. */
const needs = { eventstore: 'restores copies' }
const startTwo = (t: Test, stack: Pick<Stack, 'settings'>) =>
  startStill(t, stack, { clocks: { a: walkingClock(t), b: walkingClock(t) } })
const gone = async (service: Started, bearer: Bearer) => use(service, bearer).catch(() => 'ended' as const)
const rename = async (service: Started, name: string) =>
  (await service.request('PUT', `${FLAGS}/f`, { key: 'f', name, type: 'BOOLEAN_FLAG_TYPE', enabled: true })).status

await onStack(
  'an event store restored under running instances ends them, and the next start reports it',
  async (t, stack) => {
    const { a, b, clocks } = await startTwo(t, stack)
    const keep = await issue(a)
    t.ok(await becomes(b, keep.bearer, 200))
    const copy = stack.eventstore.copy()
    for (const name of ['two', 'three']) t.equal(await rename(a, name), 200)
    const lost = await issue(a)
    for (let n = 0; n < 10; n++) await issue(b)
    t.ok(await becomes(b, lost.bearer, 200))
    await stack.eventstore.restore(copy)
    const since = clocks.b.monotonic()
    await revoke(a, keep.id).catch(() => undefined)
    let late = 0
    await eventually(async () => {
      const asked = clocks.b.monotonic()
      if ((await gone(b, keep.bearer)) === 200 && asked - since > 4_000) late++
      return (await ended(a)) && (await ended(b))
    }, 'the end of both')
    t.equal(late, 0, 'no token of a lost history is accepted')
    for (const one of [a, b]) {
      await ends(one)
      t.match(own(await lines(one)), [/^rollcall ends: the event log is not the one that this instance has read/])
    }

    await a.reopen()
    t.match(
      (await lines(a)).filter(({ cause }) => cause !== undefined),
      [{ cause: /^(shorter|forked)$/, msg: /are rebuilt/ }],
    )
    await b.reopen()
    for (const one of [a, b]) {
      await ready(one)
      t.strictSame(await names(one), ['F'])
      t.equal(await use(one, lost.bearer), 401)
    }
    await revoke(a, keep.id)
    t.ok(await becomes(b, keep.bearer, 401))
    t.equal(await rename(b, 'four'), 200)
    t.strictSame(await names(b), ['four'])
  },
  { needs },
)

/** Writes to both until they have ended; returns the number of acknowledged new commands. */
const writesTaken = async (services: readonly Started[]) => {
  let taken = 0
  const write = async (service: Started) => {
    await eventually(async () => {
      const body = { name: 'late' }
      const answer = await service.request('POST', '/auth/v1/method/token', body).catch(() => undefined)
      if (answer?.status === 200) taken++
      return ended(service)
    }, 'the end of a service')
  }
  await Promise.all(services.flatMap((service) => [write(service), write(service)]))
  return taken
}
/** Events before all others. */
const before = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: crypto.randomUUID(),
    type: 'TokenExpired@1',
    contentType: 'application/json',
    data: Buffer.from('{}'),
    metadata: Buffer.from('{}'),
    stream: `rollcall.token-before${n}`,
    revision: 0n,
    position: BigInt(n),
    created: 0n,
  }))

for (const [what, other] of [
  ['an older copy', (copy: Copy) => copy],
  ['another, longer history', (copy: Copy) => [...before(500), ...copy]],
] as const)
  await onStack(
    `acknowledges no command on ${what} restored under running instances`,
    async (t, stack) => {
      const { a, b } = await startTwo(t, stack)
      const keep = await issue(a)
      t.ok(await becomes(b, keep.bearer, 200))
      const copy = stack.eventstore.copy()
      const late = await issue(a)
      t.ok(await becomes(b, late.bearer, 200))
      await stack.eventstore.restore(other(copy))
      t.equal(await writesTaken([a, b]), 0)
      for (const one of [a, b]) {
        await ends(one)
        t.match(own(await lines(one)), [/^rollcall ends: the event log is not the one that this instance has read/])
      }
    },
    { needs },
  )

await onStack(
  'restored between stop and start: rebuilds the read models before it is ready',
  async (t, stack) => {
    const { a, b } = await startTwo(t, stack)
    const copy = stack.eventstore.copy()
    t.equal(await rename(a, 'two'), 200)
    t.equal((await a.request('POST', FLAGS, { key: 'g', name: 'G', type: 'BOOLEAN_FLAG_TYPE' })).status, 200)
    await written(a)
    await a.close()
    await b.close()
    await stack.eventstore.restore(copy)
    const c = await startService(t, stack.settings, { clock: walkingClock(t) })
    await ready(c)
    t.strictSame(await names(c), ['F'])
    const [line] = await lines(c)
    t.match(line, { cause: 'shorter' })
    t.ok(Number(line!['events_gone']) >= 1)
    t.equal(await rename(c, 'new'), 200)
    t.strictSame(await names(c), ['new'])
  },
  { needs },
)

/** Content of the database without the lease. */
const database = async ({ settings }: Pick<Stack, 'settings'>) => {
  const client = await MongoClient.connect(settings['mongodb.url']!)
  const db = client.db(settings['mongodb.database'])
  const found: Record<string, unknown> = {}
  for (const { name } of await db.listCollections().toArray())
    if (name !== 'leases' && name !== 'records')
      found[name] = await db.collection(name).find().sort({ _id: 1 }).toArray()
  await client.close()
  return JSON.stringify(found, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

await onStack(
  'refuses another or an emptied event store and writes nothing',
  async (t, stack) => {
    const { a, b } = await startTwo(t, stack)
    const { bearer } = await issue(a)
    await written(a)
    await a.close()
    await b.close()
    const before = await database(stack)
    const foreign = await startEventStore()
    t.teardown(() => foreign.kill())
    const { stack: other } = await startStack(t, { needs })
    const clock = walkingClock(t)
    const away = await startService(t, { ...other!.settings, 'eventstore.url': foreign.url }, { clock })
    await away.close()
    t.match(
      await refusedStart(t, { ...stack.settings, 'eventstore.url': foreign.url }, { clock }),
      /its first event is|keys do not match/,
    )
    t.equal(await database(stack), before)
    const copy = stack.eventstore.copy()
    await stack.eventstore.restore()
    t.match(await refusedStart(t, stack.settings, { clock }), /belongs to another deployment: it is empty/)
    t.equal(await database(stack), before)
    await stack.eventstore.restore(copy)
    const c = await startService(t, stack.settings, { clock: walkingClock(t) })
    t.equal(await use(c, bearer), 200)
    t.strictSame(await lines(c), [])
  },
  { needs },
)

await onStack(
  'an event store emptied under running instances ends them and refuses the next start',
  async (t, stack) => {
    const { a, b } = await startTwo(t, stack)
    await stack.eventstore.restore()
    for (const one of [a, b]) {
      await ends(one)
      t.match(own(await lines(one)), [/^rollcall ends: the event log is not the one that this instance has read/])
    }
    t.match(await refusedStart(t, stack.settings, { clock: walkingClock(t) }), /it is empty/)
  },
  { needs },
)

await onStack(
  'read models lost under running instances end the writer, and a start rebuilds them',
  async (t, stack) => {
    const { a, b } = await startTwo(t, stack)
    const { bearer } = await issue(a)
    await written(a)
    const client = await MongoClient.connect(stack.settings['mongodb.url']!)
    const db = client.db(stack.settings['mongodb.database'])
    for (const { name } of await db.listCollections().toArray())
      if (/^(?:tokens|flags|namespaces|segments)_|^views$/.test(name)) await db.collection(name).drop()
    await issue(a).catch(() => undefined)
    await ends(a)
    t.match(own(await lines(a)), [/^rollcall ends, because the read models are lost/])
    // The next writer ends too.
    await ends(b)
    t.match(own(await lines(b)), [/^rollcall ends, because the read models are lost/])
    await a.reopen()
    await b.reopen()
    for (const one of [a, b]) {
      await ready(one)
      t.equal(await use(one, bearer), 200)
      t.strictSame(await names(one), ['F'])
    }
    await a.close()
    await b.close()

    for (const { name } of await db.listCollections().toArray())
      if (name.startsWith('tokens_')) await db.collection(name).deleteMany({})
    const c = await startService(t, stack.settings, { clock: walkingClock(t) })
    t.match((await lines(c))[0], { cause: 'rows_missing', read_models: ['tokens'] })
    t.equal(await use(c, bearer), 200)
    await client.close()
  },
)
