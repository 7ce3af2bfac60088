import t, { type Test } from 'tap'
import type { LedgerStatus } from '../../src/contract/history/ledger.ts'
import { readNdjson } from '../../src/verifier/export/ndjson.ts'
import { verifyCheckpoint } from '../../src/verifier/note/signatures.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { rounds } from '../crash/rig.ts'
import { draws } from '../draws.ts'
import { eventually } from '../wait.ts'
import { altered, known, type Serving, serve } from './builds.ts'
import { startStack } from './stack.ts'

const LEDGER = '/audit/v1/ledger'
/** Each event is sealed at the next look of an instance at its log, 50 ms later. */
const SEALS = { 'history.ledger.seal_interval': '1s', 'history.ledger.seal_events': '1' }

const { stack, skip } = await startStack(t)

/** Appends events and requests the newest checkpoint until the instance ends. Returns the checkpoints in their order. */
const use = async ({ request }: Serving, found: (text: string) => void, isOver: () => boolean): Promise<void> => {
  while (!isOver()) {
    await request('POST', '/auth/v1/method/token', { name: 'n' })
    const { status, text } = await request('GET', `${LEDGER}/checkpoint`)
    if (status === 200) found(text)
  }
}

/** An instance that is started again after each kill. Each list of `served` has the checkpoints of one process. */
const instanceOf = (t: Test, main: string, all: Set<string>) => {
  const served: string[][] = []
  let [running, isOver] = [undefined as Serving | undefined, false]
  const live = async (): Promise<void> => {
    const service = await serve(t, main, { ...stack!.settings, ...SEALS })
    const own: string[] = []
    served.push(own)
    running = service
    const found = (text: string) => {
      all.add(text)
      if (own.at(-1) !== text) own.push(text)
    }
    await use(service, found, () => isOver).catch((error: unknown) => {
      if (running === service) t.fail(`an instance that was not killed: ${String(error)}`)
    })
    if (!isOver) await live()
  }
  const ended = live()
  return {
    served,
    kill: async () => {
      const service = await eventually(() => running, 'an instance')
      running = undefined
      await service.kill()
    },
    /** Ends the use of the running instance, and returns it. */
    last: async () => {
      const service = await eventually(() => running, 'an instance')
      isOver = true
      await ended
      return service
    },
  }
}

/** Sizes and roots of the prefixes of the log. */
const rootsOf = async ({ request }: Serving) => {
  const { text } = await known(() => request('GET', '/audit/v1/events?format=ndjson'))
  const range = compactRange()
  return new Map(
    readNdjson(Buffer.from(text)).lines.map((line, index) => {
      range.append(line!.leaf)
      return [index + 1, base64Of(range.root())]
    }),
  )
}

// Two minutes of kills: ROLLCALL_CRASH_ROUNDS=40.
await t.test(
  'two instances that are killed while they seal serve checkpoints of one history only',
  { skip },
  async (t) => {
    const draw = draws(t)
    const all = new Set<string>()
    const main = await altered(t, 'src/ledger/follower.js', 'LOOK_MS = 500', 'LOOK_MS = 50')
    const instances = [instanceOf(t, main, all), instanceOf(t, main, all)] as const
    for (let round = 0; round < rounds(1); round++) {
      const enough = all.size + draw(5, 25)
      await eventually(() => all.size >= enough, `${enough} checkpoints`)
      await instances[draw(0, 2)]!.kill()
    }
    const enough = all.size + 20
    await eventually(() => all.size >= enough, `${enough} checkpoints`)
    const [one, other] = [await instances[0].last(), await instances[1].last()]
    const status = async () => (await one.request('GET', LEDGER)).json as unknown as LedgerStatus
    const { keys } = await eventually(async () => {
      const found = await status()
      return found.state === 'ok' && found
    }, 'a ledger that is ok')
    const roots = await rootsOf(one)
    const vkeys = keys.map(({ vkey }) => parseVkey(vkey)!)
    const sizeOf = (text: string) => {
      const checkpoint = verifyCheckpoint(text, vkeys)
      if (typeof checkpoint === 'string') return void t.fail(`${checkpoint}: ${text}`)
      if (roots.get(checkpoint.size) !== base64Of(checkpoint.root)) t.fail(`not of the log: ${text}`)
      return checkpoint.size
    }
    for (const own of instances.flatMap(({ served }) => served)) {
      const sizes = own.map((text) => sizeOf(text) ?? 0)
      t.strictSame(
        sizes,
        [...new Set(sizes)].toSorted((a, b) => a - b),
        `${own.length} checkpoints of one process grow`,
      )
    }
    t.comment(`${all.size} checkpoints of ${roots.size} events`)
    t.strictSame([await one.end(), await other.end()], [0, 0])
  },
)
