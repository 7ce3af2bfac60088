import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type Reason, Refusal, refuse } from '../../src/base/errors.ts'
import { idempotency } from '../../src/http/steps/idempotency.ts'
import { portOf } from '../adapters/embedded/store.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

/** Instances on one store, with their effects by command id. */
const instances = async (t: Parameters<typeof portOf>[0]) => {
  const views = await (await portOf(t, 'views')).open()
  t.teardown(() => views.close())
  const clock = virtualClock(new Date().toISOString())
  const effects: string[] = []
  const work = (commandId: string) => {
    effects.push(commandId)
    return { body: { n: effects.length } }
  }
  const instance = (name: string, alone: boolean) =>
    idempotency({ views, now: clock.now, instance: name, replays: { value: 0 }, alone })
  return { instance, work, effects, clock }
}
const DAY_MS = 86_400_000
const refused = (reason: Reason) => new Refusal(reason)
const asked = { fingerprint: 'POST /x', requestId: 'r' }

await t.test('after a crash between effect and answer a retry has no second effect', async (t) => {
  const { instance, work, effects, clock } = await instances(t)
  /** The process ends before the effect is recorded. */
  const crash = (commandId: string) => {
    effects.push(commandId)
    return new Promise<never>(() => {})
  }
  void instance('one', true).once('me', 'key', asked, crash)
  await eventually(() => effects.length === 1, 'the effect before the crash')

  const cluster = instance('two', false)
  await t.rejects(cluster.once('me', 'key', asked, work), refused('idempotency_in_progress'))
  t.equal(effects.length, 1, 'another instance may be running it still')

  const restarted = await instance('three', true).once('me', 'key', asked, work)
  t.strictSame(
    [effects.length, effects[1]],
    [2, effects[0]],
    'without other instances: resumed at once with the same id',
  )
  const replayed = await cluster.once('me', 'key', asked, work)
  t.strictSame(replayed.body, restarted.body)
  t.match(replayed.headers, { 'idempotency-replayed': 'true' })

  void instance('one', false).once('me', 'other', asked, crash)
  await eventually(() => effects.length === 3, 'the effect before the other crash')
  await clock.advance(29_999)
  await t.rejects(cluster.once('me', 'other', asked, work), refused('idempotency_in_progress'))
  await clock.advance(1)
  await cluster.once('me', 'other', asked, work)
  t.equal(effects[3], effects[2], 'after half a minute another instance takes it over')
})

await t.test('a client error makes its idempotency key usable again, and a server fault does not', async (t) => {
  const { instance, work, effects } = await instances(t)
  const one = instance('one', true)
  const failing = (reason: 'not_unique' | 'backend_unavailable') => (commandId: string) => {
    effects.push(commandId)
    return refuse(reason)
  }
  await t.rejects(one.once('me', 'mistake', asked, failing('not_unique')), refused('not_unique'))
  await one.once('me', 'mistake', { ...asked, fingerprint: 'another request' }, work)
  t.not(effects[1], effects[0])
  await t.rejects(one.once('me', 'fault', asked, failing('backend_unavailable')), refused('backend_unavailable'))
  await one.once('me', 'fault', asked, work)
  t.equal(effects[3], effects[2])
})

await t.test('an idempotency key is valid for one caller and one request', async (t) => {
  const { instance, work, effects } = await instances(t)
  const one = instance('one', true)
  const [mine, again] = await Promise.all([one.once('me', 'key', asked, work), one.once('me', 'key', asked, work)])
  t.strictSame(again.body, mine.body)
  t.equal(effects.length, 1, 'at once, too')
  await one.once('you', 'key', asked, work)
  t.equal(effects.length, 2)
  await t.rejects(one.once('me', 'key', { ...asked, fingerprint: 'another' }, work), refused('idempotency_mismatch'))
  t.equal(effects.length, 2)
})

await t.test('an answer that is too large to store is created again from the same command', async (t) => {
  const { instance, effects } = await instances(t)
  const large = 'x'.repeat(16_384)
  const work = (commandId: string) => {
    effects.push(commandId)
    return { body: { large } }
  }
  const [first, again] = [
    await instance('one', false).once('me', 'key', asked, work),
    await instance('two', false).once('me', 'key', asked, work),
  ]
  t.ok(JSON.stringify(first.body) === JSON.stringify(again.body), 'the same answer')
  t.strictSame([first.headers, again.headers], [undefined, { 'idempotency-replayed': 'true' }])
  t.strictSame([effects.length, effects[1]], [2, effects[0]], 'the command id makes it one effect')
  const other = { ...asked, fingerprint: 'POST /y' }
  await t.rejects(instance('two', false).once('me', 'key', other, work), refused('idempotency_mismatch'))
})

await t.test('an idempotency key is stored with its answer for a day, but not for a client error', async (t) => {
  const clock = virtualClock()
  const begun = clock.now().getTime()
  const until: number[] = []
  const views = {
    record: () => Promise.resolve(undefined),
    swapRecord: (_table: string, _key: string, _revision: number, _value: unknown, expires: number) => {
      until.push(expires - begun)
      return Promise.resolve(true)
    },
  } as unknown as Parameters<typeof idempotency>[0]['views']
  const { once } = idempotency({ views, now: clock.now, instance: 'one', replays: { value: 0 }, alone: true })
  const taking =
    (answer: () => { body: object }, ms = 1_000) =>
    async () => {
      await clock.advance(ms)
      return answer()
    }
  await once(
    'me',
    'key',
    asked,
    taking(() => ({ body: {} })),
  )
  t.strictSame(until.splice(0), [DAY_MS, DAY_MS])
  await t.rejects(
    once(
      'me',
      'fault',
      asked,
      taking(() => refuse('backend_unavailable')),
    ),
  )
  t.strictSame(until.splice(0), [DAY_MS + 1_000, DAY_MS + 1_000])
  await t.rejects(
    once(
      'me',
      'mistake',
      asked,
      taking(() => refuse('not_unique')),
    ),
  )
  t.strictSame(until.splice(0), [DAY_MS + 2_000, -begun])
})

/** In-memory records and their sizes. */
const inMemory = () => {
  const records = new Map<string, { revision: number; value: object }>()
  const views = {
    record: async (_table: string, key: string) => records.get(key),
    swapRecord: async (_table: string, key: string, expected: number, value: object) => {
      records.set(key, { revision: expected + 1, value })
      return true
    },
  } as unknown as Parameters<typeof idempotency>[0]['views']
  return { views, bytes: () => JSON.stringify([...records.values()]).length }
}

await t.test('at most 64 MiB of answers are stored for each caller and day, and secrets always', async (t) => {
  const { views, bytes } = inMemory()
  const clock = virtualClock()
  const { once } = idempotency({ views, now: clock.now, instance: 'one', replays: { value: 0 }, alone: true })
  let effects = 0
  const work = (of: object) => () => {
    effects++
    return { body: { of: 'x'.repeat(16_000) }, ...of }
  }
  const isKept = async (owner: string, key: string, of: object = {}) => {
    await once(owner, key, asked, work(of))
    const before = effects
    await once(owner, key, asked, work(of))
    return effects === before
  }
  const fits = Math.floor((64 * 1_048_576) / Buffer.byteLength(JSON.stringify({ of: 'x'.repeat(16_000) })))
  for (let n = 0; n < fits; n++) await once('me', `key ${n}`, asked, work({}))
  const full = bytes()
  t.ok(full > 60 * 1_048_576)
  t.notOk(await isKept('me', 'one more'))
  for (let n = 0; n < 100; n++) await once('me', `further ${n}`, asked, work({}))
  t.ok(bytes() - full < 100 * 400, `${bytes() - full} bytes of a hundred requests`)
  t.ok(await isKept('me', 'secret', { secret: { text: 'x' } }))
  t.ok(await isKept('you', 'another'))
  await clock.advance(DAY_MS)
  t.ok(await isKept('me', 'next day'))
})

await t.test('space that becomes free after a day is used again', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { open, directory } = await portOf(t, 'views', clock)
  const views = await open()
  t.teardown(() => views.close())
  const { once } = idempotency({ views, now: clock.now, instance: 'one', replays: { value: 0 }, alone: true })
  const size = async () => (await stat(join(directory, 'events.sqlite'))).size
  const sizes: number[] = []
  for (let day = 0; day < 3; day++) {
    for (let n = 0; n < 400; n++) await once('me', `${day} ${n}`, asked, () => ({ body: { of: 'x'.repeat(10_000) } }))
    sizes.push(await size())
    await clock.advance(DAY_MS)
  }
  t.ok(sizes[2]! < 1.3 * sizes[0]!, `${sizes.join(', ')} bytes`)
})

/** In-memory records; `fault` of a write with an answer is thrown, or `lost` after it was written. */
const faulty = () => {
  const records = new Map<string, { revision: number; value: object }>()
  const faults: ('refused' | 'lost' | 'written twice')[] = []
  const views = {
    record: async (_table: string, key: string) => records.get(key),
    swapRecord: async (_table: string, key: string, expected: number, value: object, until: number) => {
      const fault = 'answer' in value ? faults.shift() : undefined
      if (fault === 'refused') return refuse('backend_unavailable')
      if ((records.get(key)?.revision ?? 0) !== expected) return false
      if (until === 0) records.delete(key)
      else records.set(key, { revision: expected + 1, value })
      if (fault === 'lost') return refuse('backend_unavailable')
      return fault !== 'written twice'
    },
  } as unknown as Parameters<typeof idempotency>[0]['views']
  const clock = virtualClock()
  const instance = (name: string) =>
    idempotency({ views, now: clock.now, instance: name, replays: { value: 0 }, alone: false })
  return {
    one: instance('one'),
    two: instance('two'),
    faults,
    clock,
    text: () => JSON.stringify([...records.values()]),
  }
}
/** Issues a token whose secret follows from the command id. */
const issue = (commandId: string) => ({ body: { id: 'x' }, secret: { clientToken: `secret of ${commandId}` } })
const shown = { details: [{ value: { reason: 'secret_already_shown' } }] }

for (const fault of ['refused', 'lost'] as const)
  await t.test(`a secret whose answer was not recorded (${fault}) is given to the repeated request`, async (t) => {
    const { one, two, faults, text } = faulty()
    faults.push(fault)
    const given: string[] = []
    const work = (commandId: string) => (given.push(commandId), issue(commandId))
    await t.rejects(one.once('me', 'key', asked, work), refused('backend_unavailable'))
    t.match(await two.once('me', 'key', asked, work), { secret: { clientToken: `secret of ${given[0]}` } })
    t.equal(given[1], given[0])
    for (const { once } of [one, two]) {
      const replayed = await once('me', 'key', asked, work)
      t.match(replayed.body, shown)
      t.notOk('secret' in replayed)
    }
    t.equal(given.length, 2)
    t.notMatch(text(), given[0]!, 'no secret can be derived from the record of a given answer')
  })

await t.test('a secret is given if only the confirmation of its record was lost', async (t) => {
  const { one, faults } = faulty()
  faults.push('written twice')
  t.match(await one.once('me', 'key', asked, issue), { secret: {} })
  t.match((await one.once('me', 'key', asked, issue)).body, shown)
})

await t.test('of two instances that carry out one request only the one with the record gives the secret', async (t) => {
  const { one, two, clock } = faulty()
  let finish: (() => void) | undefined
  const slow = one.once('me', 'key', asked, async (commandId) => {
    await new Promise<void>((done) => (finish = done))
    return issue(commandId)
  })
  const outcome = t.rejects(slow, refused('idempotency_in_progress'))
  await eventually(() => finish !== undefined, 'the first attempt')
  await clock.advance(30_000)
  t.match(await two.once('me', 'key', asked, issue), { secret: {} })
  finish!()
  await outcome
  t.match((await one.once('me', 'key', asked, issue)).body, shown, 'and the record of the other stays')
})

await t.test('a client error does not free an idempotency key whose earlier attempt may succeed', async (t) => {
  const { one, two } = faulty()
  const given: string[] = []
  const failing = (reason: Reason) => (commandId: string) => (given.push(commandId), refuse(reason))
  await t.rejects(one.once('me', 'key', asked, failing('backend_unavailable')), refused('backend_unavailable'))
  await t.rejects(two.once('me', 'key', asked, failing('quota_exceeded')), refused('quota_exceeded'))
  await two.once('me', 'key', asked, (commandId) => (given.push(commandId), issue(commandId)))
  t.strictSame(new Set(given).size, 1)
})
