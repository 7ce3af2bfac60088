import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { walking } from '../walking-clock.ts'
import { openLogOf, type Settings } from './named-servers.ts'
import { type Bearer, becomes, issue, known, revoke, use } from './revoking.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)

const TOKENS = 1_500
const AT_ONCE = 16
/** Few at once, because both instances and their event store are one process here. */
const FEW = 8

/** Processes all items with at most `most` at a time. */
const each = async <T>(all: readonly T[], most: number, work: (one: T) => Promise<void>) => {
  const left = [...all]
  const worker = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await work(one)
  }
  await Promise.all(Array.from({ length: most }, worker))
}
const reads = async (service: Started) => {
  const name = 'rollcall_store_calls_total{port="log",adapter="eventstoredb",operation="read",outcome="ok"} '
  const line = (await service.metrics()).split('\n').find((one) => one.startsWith(name))
  return Number(line!.slice(name.length))
}

/** Writes revocations like another instance. */
const elsewhere = async (settings: Settings) => {
  const log = await openLogOf(settings, [token.category])
  const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const { execute } = executor(
    log,
    enveloper(clear, 'elsewhere', () => new Date()),
    { clock: systemClock },
  )
  const live = { state: { status: 'live' }, changes: 1n, at: 0n } as const
  return {
    revoke: async (id: string) =>
      void (await execute(token, id, 'RevokeToken', { id }, { actor: { kind: 'system' } }, live)),
    close: log.close,
  }
}

await t.test('many requests sent to one instance take effect on another one', { skip }, async (t) => {
  const settings = {
    ...stack!.settings,
    'rate_limit.enabled': 'false',
    // No checkpoint is made here, because each reads the stream of the ledger.
    'history.ledger.seal_interval': '1h',
    'history.ledger.seal_events': '100000',
  }
  const clocks = [virtualClock(), virtualClock()] as const
  const a = await startService(t, settings, { clock: clocks[0] })
  const flag = { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await a.request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200)
  const issued: { readonly bearer: Bearer; readonly id: string }[] = []
  await each(
    Array.from({ length: TOKENS }, (_, n) => n),
    AT_ONCE,
    async () => void issued.push(await issue(a)),
  )
  // The first instance has marked its read models, because it has written more than 1,000 events.
  const b = await startService(t, settings, { clock: clocks[1] })

  await t.test('an instance that has just started answers the first requests of many tokens', async (t) => {
    const statuses = await Promise.all(issued.map(({ bearer }) => use(b, bearer)))
    t.strictSame([...new Set(statuses)], [200])
  })

  await t.test('a revocation on another instance takes effect without reading the stream of the token', async (t) => {
    const [ended, kept] = [issued.slice(0, 100), issued[100]!]
    // First use of the test's credential there.
    t.equal((await known(() => b.request('GET', '/auth/v1/self'))).status, 200)
    const before = await reads(b)
    const beforeHere = await reads(a)
    let newest = 0n
    await each(ended, AT_ONCE, async ({ id }) => {
      const position = await revoke(a, id)
      if (position > newest) newest = position
    })
    const after = { 'after-position': String(newest) }
    const read = () => b.request('GET', '/api/v1/namespaces/default/flags/f', undefined, after)
    const seen = await walking(clocks, () => known(read))
    t.equal(seen.status, 200)
    for (const { bearer } of ended) t.equal(await use(b, bearer), 401)
    t.equal(await use(b, kept.bearer), 200)
    t.equal((await reads(b)) - before, 0)
    t.equal((await reads(a)) - beforeHere, 0, 'nor does it take one here')
  })

  await t.test('an instance stays ready during many revocations by others, and applies them at once', async (t) => {
    const ending = issued.slice(200, 1_400)
    const last = ending.at(-1)!
    for (const service of [a, b]) t.equal(await use(service, last.bearer), 200)
    const others = await elsewhere(stack!.settings)
    t.teardown(others.close)
    const over = new AbortController()
    const unready: string[] = []
    const looked = [a, b].map(async (service) => {
      while (!over.signal.aborted) {
        const { status, text } = await service.request('GET', '/readyz?verbose')
        if (status !== 200) unready.push(text)
      }
    })
    await walking(clocks, async () => {
      await each(ending.toReversed(), FEW, ({ id }) => others.revoke(id)).finally(() => over.abort())
      for (const service of [a, b]) t.ok(await becomes(service, last.bearer, 401))
      await Promise.all(looked)
    })
    t.strictSame(unready, [])
    for (const service of [a, b]) {
      const statuses = await Promise.all(ending.slice(-100).map(({ bearer }) => use(service, bearer)))
      t.strictSame([...new Set(statuses)], [401])
      t.equal(await use(service, issued[100]!.bearer), 200)
    }
  })
})
