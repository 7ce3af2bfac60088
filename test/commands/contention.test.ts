import t from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import { Refusal, refuse } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { reservations } from '../../src/commands/reservations.ts'
import { token } from '../../src/commands/token.ts'
import type { EventLog } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'
import { noted } from '../noted.ts'
import { tokenIssued } from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'
import { begin, complaints, context, flagAsk, ruleAsk } from './world.ts'

/** A log whose operations take 2 ms while it is slow, so that concurrent commands collide. */
const slowLog = async (clock: Clock) => {
  let isSlow = false
  let lost = 0
  const inner = memoryLog({ pause: async () => isSlow && clock.sleep(2), pageSize: 1000 })
  await begin(inner)
  const append: EventLog['append'] = (...asked) =>
    inner.append(...asked).catch((error: unknown) => {
      lost++
      throw error
    })
  return { log: { ...inner, append }, slow: (is: boolean) => void (isSlow = is), lost: () => lost }
}
/** A process on the log, with the real pauses. */
const process = (clock: Clock, log: EventLog, name: string) => {
  let minted = 0
  const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const { execute, foldOf } = executor(log, enveloper(open, name, clock.now), { clock })
  return reservations(execute, foldOf, () => `${name}-${++minted}`, clock.now)
}
const reasons = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.flatMap((result) =>
    result.status === 'fulfilled' ? [] : [result.reason instanceof Refusal ? result.reason.reason : 'error'],
  )

for (const processes of [1, 3])
  await t.test(`${processes} process(es) with 32 concurrent commands each lose no command`, async (t) => {
    const clock = virtualClock()
    const { log, slow, lost } = await slowLog(clock)
    slow(true)
    const all = Array.from({ length: processes }, (_, n) => process(clock, log, `p${n}`))
    const each = async (work: (of: (typeof all)[number], n: number) => Promise<unknown>) => {
      const results = Promise.allSettled(
        all.flatMap((of, p) => Array.from({ length: 32 }, (_, n) => work(of, p * 32 + n))),
      )
      for (const done = noted(results); done.length === 0; ) await clock.advance(10)
      return results
    }

    t.strictSame(
      reasons(await each((of, n) => of.createFlag(flagAsk(`k${n}`), context))),
      [],
      'flags of different keys are all made',
    )
    const same = reasons(await each((of) => of.createFlag(flagAsk('same'), context)))
    t.strictSame(
      same,
      Array(32 * processes - 1).fill('not_unique'),
      'of one key one is made, and all others are told that it is there',
    )
    const rule = (n: number) => ({ ...ruleAsk(`r${n}`, 's'), key: `k${n}`, rank: 0 })
    t.strictSame(
      reasons(await each((of, n) => of.addRule(rule(n), context))),
      [],
      'rules of different flags may use one segment',
    )
    t.equal(lost() > 0, processes > 1, `${lost()} races were lost`)
    slow(false)
    t.strictSame(await complaints(log), [])
  })

for (const [random, pause] of [
  [0, 5],
  [0.5, 27.5],
  [1, 50],
] as const)
  await t.test(`a command is refused after it lost 12 races with pauses of ${pause} ms between them`, async (t) => {
    t.intercept(Math, 'random', { value: () => random })
    const clock = virtualClock()
    const appends: number[] = []
    const log: EventLog = {
      ...memoryLog(),
      append: async () => {
        appends.push(clock.monotonic())
        return refuse('write_conflict')
      },
    }
    const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
    const { execute } = executor(log, enveloper(open, 'one', clock.now), { clock })
    const issuing = noted(execute(token, 't1', 'IssueToken', tokenIssued.data, context))
    await clock.advance(11 * pause - 1)
    t.strictSame(issuing, [])
    await clock.advance(1)
    t.match(issuing, [new Refusal('write_conflict')])
    t.strictSame(
      appends,
      Array.from({ length: 12 }, (_, n) => n * pause),
    )
  })

await t.test('a command of a resource without a size limit reports a growth of 0 bytes to the quotas', async (t) => {
  const growths: number[] = []
  const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const clock = virtualClock()
  const envelope = enveloper(open, 'one', clock.now)
  const { execute } = executor(memoryLog(), envelope, {
    clock,
    admit: ({ growth }) => void growths.push(growth()),
  })
  await execute(token, 't1', 'IssueToken', tokenIssued.data, context)
  t.strictSame(growths, [0])
})
