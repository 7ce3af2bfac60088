import t from 'tap'
import { reservations } from '../../src/commands/reservations.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { Refusal } from '../../src/errors.ts'
import type { EventLog } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'
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
