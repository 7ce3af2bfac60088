import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { reservations } from '../../src/commands/reservations.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { Refusal, refuse } from '../../src/errors.ts'
import type { EventLog } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'
import { tokenIssued } from '../samples.ts'
import { begin, complaints, context, flagAsk, ruleAsk } from './world.ts'

/** A log whose every step takes a moment, so that who comes together meets. */
const slowLog = async () => {
  let slow = false
  const log = memoryLog({
    pause: async () => (slow ? new Promise((go) => setImmediate(go)) : undefined),
    pageSize: 1000,
  })
  await begin(log)
  slow = true
  return log
}
/** A process on the log, with the pauses of the real one. */
const process = (log: EventLog, name: string) => {
  let minted = 0
  const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const { execute, foldOf } = executor(
    log,
    enveloper(open, name, () => new Date()),
    { clock: systemClock },
  )
  return reservations(
    execute,
    foldOf,
    () => `${name}-${++minted}`,
    () => new Date(),
  )
}
const reasons = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.flatMap((result) =>
    result.status === 'fulfilled' ? [] : [result.reason instanceof Refusal ? result.reason.reason : 'error'],
  )

for (const processes of [1, 3])
  await t.test(`${processes} process(es), 32 at once in each`, async (t) => {
    const log = await slowLog()
    const all = Array.from({ length: processes }, (_, n) => process(log, `p${n}`))
    const each = (work: (of: (typeof all)[number], n: number) => Promise<unknown>) =>
      Promise.allSettled(all.flatMap((of, p) => Array.from({ length: 32 }, (_, n) => work(of, p * 32 + n))))

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
    t.strictSame(await complaints(log), [])
  })

await t.test('a command that loses twelve races, with a pause after each, is refused', async (t) => {
  let [appends, pauses] = [0, 0]
  const log: EventLog = {
    ...memoryLog(),
    append: async () => {
      appends++
      return refuse('write_conflict')
    },
  }
  const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const envelope = enveloper(open, 'one', () => new Date())
  const { execute } = executor(log, envelope, { clock: { sleep: async () => void pauses++ } })
  const conflict = new Refusal('write_conflict')
  await t.rejects(execute(token, 't1', 'IssueToken', tokenIssued.data, context), conflict)
  t.strictSame([appends, pauses], [12, 11])
})

await t.test('what has no weight grows by nothing', async (t) => {
  const growths: number[] = []
  const open = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const envelope = enveloper(open, 'one', () => new Date())
  const { execute } = executor(memoryLog(), envelope, {
    clock: systemClock,
    admit: ({ growth }) => void growths.push(growth()),
  })
  await execute(token, 't1', 'IssueToken', tokenIssued.data, context)
  t.strictSame(growths, [0])
})
