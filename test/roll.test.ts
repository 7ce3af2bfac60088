import t, { type Test } from 'tap'
import { enveloper } from '../src/commands/envelope.ts'
import { executor } from '../src/commands/execute.ts'
import { followedRoll, membership } from '../src/app/roll.ts'
import type { EventLog } from '../src/events/log.ts'
import { memoryLog } from './memory-log.ts'

const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
const until = async (t: Test, what: string, holds: () => boolean) => {
  for (let n = 0; n < 1_000 && !holds(); n++) await sleep(5)
  t.ok(holds(), what)
}

/** An instance that looks at the roll every few milliseconds: its log, and what it says. */
const instance = async (
  t: Test,
  log: EventLog,
  name: string,
  reads: number,
  {
    complete = true,
    lookMs = 2,
    fresh = () => true,
  }: { complete?: boolean; lookMs?: number; fresh?: () => boolean } = {},
) => {
  const lines: (readonly [object, string])[] = []
  const tell = (record: object, message: string) => void lines.push([record, message])
  const roll = followedRoll({ info: tell } as never, reads)
  let away = false
  const reached: EventLog = {
    ...log,
    append: async (...asked) => (away ? Promise.reject(new Error('away')) : log.append(...asked)),
  }
  const { execute } = executor(
    reached,
    enveloper(open, name, () => new Date()),
    { format: roll.format },
  )
  const stop = new AbortController()
  const errors: unknown[] = []
  const member = membership({
    roll,
    execute,
    instance: name,
    version: `${reads}.0.0`,
    reads,
    fresh,
    logger: { warn: tell } as never,
    onError: (error) => errors.push(error),
    lookMs,
    spreadMs: 1,
  })
  const following = (async () => {
    for await (const _ of roll.through(log).follow(0n, stop.signal)) if (stop.signal.aborted) return
  })()
  const crash = async () => {
    away = true
    stop.abort()
    await following
  }
  t.teardown(async () => {
    await member.leave()
    await crash()
  })
  await member.join(complete)
  return { ...member, format: roll.format, lines, errors, crash, away: (is: boolean) => (away = is) }
}
const typesOf = (log: ReturnType<typeof memoryLog>) => log.all.map(({ type }) => type)

void t.test('a release: the later format is written when the last older instance has left', async (t) => {
  const log = memoryLog()
  const old = await instance(t, log, 'old', 1)
  t.equal(old.format(), 1)
  const fresh = await instance(t, log, 'new', 2)
  t.equal(fresh.format(), 1)
  t.match(fresh.lines, [[{ from: 2, to: 1, instances: 2 }, /an earlier format of the history is written/]])
  await until(t, 'the older one answers', () => typesOf(log).includes('InstanceAnswered'))
  await old.leave()
  await until(t, 'the later format is written', () => fresh.format() === 2)
  t.match(fresh.lines.at(-1), [{ from: 1, to: 2, instances: 1 }, /is written from here on/])

  const back = await instance(t, log, 'back', 1)
  await until(t, 'going back: the earlier format is written again', () => fresh.format() === 1)
  await back.leave()
  t.same(
    typesOf(log).filter((type) => type === 'InstanceLeft'),
    ['InstanceLeft', 'InstanceLeft'],
  )
})

void t.test('who was killed is struck out after fifteen looks, who lives is not', async (t) => {
  const log = memoryLog()
  const killed = await instance(t, log, 'killed', 1)
  const lives = await instance(t, log, 'lives', 2)
  await killed.crash()
  const fresh = await instance(t, log, 'new', 2)
  t.equal(fresh.format(), 1)
  await until(t, 'struck out', () => fresh.format() === 2 && lives.format() === 2)
  t.same(
    log.all.filter(({ type }) => type === 'InstanceLeft').map(({ data }) => JSON.parse(data) as object),
    [{ instance: 'killed', cause: 'silent' }],
    'once, though both looked',
  )
})

void t.test('nobody is struck out while the log may be out of reach', async (t) => {
  const log = memoryLog()
  let looks = 0
  const killed = await instance(t, log, 'killed', 1)
  await killed.crash()
  const fresh = await instance(t, log, 'new', 2, { fresh: () => ++looks % 10 !== 0 })
  await until(t, 'it looked often', () => looks > 100)
  t.equal(fresh.format(), 1)
  t.notOk(typesOf(log).includes('InstanceLeft'))
})

void t.test('who was struck out though it lives joins again, and holds the format back', async (t) => {
  const log = memoryLog()
  const paused = await instance(t, log, 'paused', 1, { lookMs: 60_000 })
  paused.away(true)
  const fresh = await instance(t, log, 'new', 2)
  await until(t, 'struck out', () => fresh.format() === 2)
  t.ok(paused.errors.length > 0, 'what it could not say is told')
  paused.away(false)
  const third = await instance(t, log, 'third', 2)
  await until(t, 'back on the roll', () => fresh.format() === 1 && third.format() === 1)
})

void t.test(
  'a history that others may read is written in the first format until the operator says otherwise',
  async (t) => {
    const log = memoryLog()
    const one = await instance(t, log, 'one', 2, { complete: false })
    t.equal(one.format(), 1)
    t.match(one.lines, [[{ to: 1 }, /set eventstore.all_on_roll/]])
    await instance(t, log, 'two', 2)
    await until(t, 'said', () => one.format() === 2)
  },
)

void t.test('a farewell that the log does not take is told, and nothing waits for it', async (t) => {
  const log = memoryLog()
  const one = await instance(t, log, 'one', 1)
  one.away(true)
  await one.leave()
  t.match(one.lines.at(-1), [{ err: /away/ }, /could not be taken from the roll/])
})
