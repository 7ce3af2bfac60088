import t, { type Test } from 'tap'
import { clusterMember, followedMembership } from '../../src/app/core/cluster-member.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import type { EventLog } from '../../src/events/log.ts'
import { tappedLog } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'

const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const MINUTE = 60_000

/** A member of the cluster: its log, and its log lines. It responds to a probe after half a second. */
const instance = async (
  t: Test,
  { log, clock }: { readonly log: EventLog; readonly clock: VirtualClock },
  name: string,
  reads: number,
  { complete = true, fresh = () => true }: { complete?: boolean; fresh?: () => boolean } = {},
) => {
  const lines: (readonly [object, string])[] = []
  const tell = (record: object, message: string) => void lines.push([record, message])
  const roll = followedMembership({ info: tell } as never, reads)
  let [away, hanging] = [false, false]
  const reached: EventLog = {
    ...log,
    append: async (...asked) => {
      if (hanging) await new Promise(() => undefined)
      return away ? Promise.reject(new Error('away')) : log.append(...asked)
    },
  }
  const { execute } = executor(reached, enveloper(open, name, clock.now), { clock, format: roll.format })
  const stop = new AbortController()
  const errors: unknown[] = []
  const member = clusterMember({
    membership: roll,
    execute,
    instance: name,
    version: `${reads}.0.0`,
    reads,
    fresh,
    logger: { warn: tell } as never,
    onError: (error) => errors.push(error),
    clock,
    chance: () => 0.5,
  })
  const following = (async () => {
    for await (const _ of tappedLog(log, [roll.tap]).follow(0n, stop.signal)) if (stop.signal.aborted) return
  })()
  const crash = async () => {
    away = true
    stop.abort()
    await following
  }
  t.teardown(async () => {
    const left = member.leave()
    await clock.advance(1_000)
    await left
    await crash()
  })
  await member.join(complete)
  return {
    ...member,
    format: roll.format,
    lines,
    errors,
    crash,
    away: (is: boolean) => (away = is),
    hang: () => (hanging = true),
  }
}
/** History with its own clock. */
const history = () => ({ log: memoryLog(), clock: virtualClock() })
const typesOf = (log: ReturnType<typeof memoryLog>) => log.all.map(({ type }) => type)

void t.test('an instance writes the later event format once no older version runs in the cluster', async (t) => {
  const world = history()
  const { log, clock } = world
  const old = await instance(t, world, 'old', 1)
  t.equal(old.format(), 1)
  const fresh = await instance(t, world, 'new', 2)
  t.equal(fresh.format(), 1)
  t.match(fresh.lines, [[{ from: 2, to: 1, instances: 2 }, /events are written in an earlier format/]])
  await clock.advance(499)
  t.notOk(typesOf(log).includes('MemberResponded'))
  await clock.advance(1)
  t.ok(typesOf(log).includes('MemberResponded'), 'the older one answers')
  await old.leave()
  await clock.settle()
  t.equal(fresh.format(), 2, 'the later format is written')
  t.match(fresh.lines.at(-1), [{ from: 1, to: 2, instances: 1 }, /in that format from now on/])

  const back = await instance(t, world, 'back', 1)
  await clock.settle()
  t.equal(fresh.format(), 1, 'going back: the earlier format is written again')
  await back.leave()
  t.same(
    typesOf(log).filter((type) => type === 'InstanceLeft'),
    ['InstanceLeft', 'InstanceLeft'],
  )
})

void t.test('a killed instance is removed from the cluster after 15 checks, a running one never', async (t) => {
  const world = history()
  const { log, clock } = world
  const killed = await instance(t, world, 'killed', 1)
  const lives = await instance(t, world, 'lives', 2)
  await killed.crash()
  const fresh = await instance(t, world, 'new', 2)
  await clock.advance(14 * MINUTE)
  t.equal(fresh.format(), 1)
  await clock.advance(2 * MINUTE)
  t.same([fresh.format(), lives.format()], [2, 2], 'struck out')
  await clock.advance(60 * MINUTE)
  t.same(
    log.all.filter(({ type }) => type === 'InstanceLeft').map(({ data }) => JSON.parse(data) as object),
    [{ instance: 'killed', cause: 'silent' }],
    'once, though both looked',
  )
})

void t.test('no instance is removed from the cluster while the log may be unreachable', async (t) => {
  const world = history()
  let looks = 0
  const killed = await instance(t, world, 'killed', 1)
  await killed.crash()
  const fresh = await instance(t, world, 'new', 2, { fresh: () => ++looks % 10 !== 0 })
  await world.clock.advance(100 * MINUTE)
  t.ok(looks >= 100, `${looks} looks`)
  t.equal(fresh.format(), 1)
  t.notOk(typesOf(world.log).includes('InstanceLeft'))
})

void t.test('a running instance that was removed joins again before any later format is written', async (t) => {
  const world = history()
  const { clock } = world
  const paused = await instance(t, world, 'paused', 1)
  paused.away(true)
  const fresh = await instance(t, world, 'new', 2)
  await clock.advance(16 * MINUTE)
  t.equal(fresh.format(), 2, 'struck out')
  t.ok(paused.errors.length > 0, 'what it could not say is told')
  paused.away(false)
  const third = await instance(t, world, 'third', 2)
  await clock.advance(2 * MINUTE)
  t.same([fresh.format(), third.format()], [1, 1], 'a member again')
})

void t.test('an instance writes the first event format until the operator allows a later one', async (t) => {
  const world = history()
  const one = await instance(t, world, 'one', 2, { complete: false })
  t.equal(one.format(), 1)
  t.match(one.lines, [[{ to: 1 }, /set eventstore.all_on_roll/]])
  await instance(t, world, 'two', 2)
  await world.clock.settle()
  t.equal(one.format(), 2, 'said')
})

void t.test('an instance that cannot record its departure logs that and ends without waiting', async (t) => {
  const one = await instance(t, history(), 'one', 1)
  one.away(true)
  await one.leave()
  t.match(one.lines.at(-1), [{ err: /away/ }, /could not record in the event log that it stops/])
})

void t.test('an instance waits one second for the record of its departure, then ends', async (t) => {
  const world = history()
  const one = await instance(t, world, 'one', 1)
  one.hang()
  let left = false
  const leaving = one.leave().then(() => (left = true))
  await world.clock.advance(999)
  t.notOk(left)
  await world.clock.advance(1)
  await leaving
  t.match(one.lines.at(-1), [{ err: /did not answer in time/ }, /could not record in the event log that it stops/])
})
