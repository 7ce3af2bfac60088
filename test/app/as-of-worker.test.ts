import { randomBytes } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel, type Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import {
  answerReads,
  PIECE,
  rowOf,
  type ThreadRequest,
  type ThreadResponse,
} from '../../src/app/as-of-thread/messages.ts'
import { asOfWorker } from '../../src/app/as-of-thread/worker.ts'
import { outageLog } from '../../src/app/telemetry/outage-log.ts'
import { type AsOfReads, asOfReads } from '../../src/as-of/reads.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import { tokens } from '../../src/projections/tokens.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { flagCreated, ofFlag, tokenIssued } from '../samples.ts'
import { startService } from '../start.ts'
import { eventually, quiet } from '../wait.ts'

const key = new Uint8Array(32)
const never = new AbortController().signal
const unavailable = { message: new Refusal('backend_unavailable').message }
const event = (id: string, { type, data }: { readonly type: string; readonly data: object }) => ({
  id,
  type,
  time: '2026-01-01T00:00:00.000Z',
  data: JSON.stringify(data),
  meta: '{}',
})

/**
 * Opens an embedded store with a flag of many changes and a reader of its past. Log lines are in `told`, started
 * threads in `begun`.
 */
const past = async (t: Test, changes = 100) => {
  const directory = await newDirectory(t)
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: randomBytes(32),
    onError: (_, error) => t.fail(String(error)),
  })
  const renamed = (n: number) => ({
    type: 'FlagUpdated',
    data: { ...ofFlag, name: { from: 'a', to: `name ${n}` }, description: { from: '', to: 'd'.repeat(1_000) } },
  })
  const events = Array.from({ length: changes }, (_, n) => event(`e${n}`, n === 0 ? flagCreated : renamed(n)))
  await store.log.append('flag-ns+f', events, 'none')
  const told: object[] = []
  const tell = (level: string) => (record: object) => void told.push({ level, ...record })
  const log = { error: tell('ERROR'), info: tell('INFO') } as Parameters<typeof outageLog>[0]
  const faults = outageLog(log, systemClock)
  const begun: Worker[] = []
  const onWorker = (worker: Worker) => void begun.push(worker)
  process.on('worker', onWorker)
  const reads = asOfWorker(store.files, key, faults)
  t.teardown(async () => {
    process.off('worker', onWorker)
    await reads.close()
    await store.close()
  })
  return { directory, store, reads, told, begun }
}
const flag = ['flags', 'ns+f'] as const

await t.test('the worker thread for reads of past states returns the same rows as a direct read', async (t) => {
  const { store, reads, begun, told } = await past(t)
  const here = asOfReads({ ...store, key, atOnce: 8 })
  t.equal(begun.length, 0, 'the first reading begins it')
  const wanted = [flag, ['flags', 'ns+none'], ['tokens', 't']] as const
  for (const position of [0n, 1n, 50n, 100n])
    t.strictSame(await reads.rows(position, wanted, never), await here.rows(position, wanted, never))
  for (const instant of ['2025-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'])
    t.equal(await reads.positionOf(instant, never), await here.positionOf(instant, never))
  t.match(await reads.rows(100n, [flag], never), [{ revision: 99n, doc: { name: 'name 99' } }])
  t.strictSame([begun.length, told], [1, []])
})

await t.test('the worker thread for reads of past states marks a document that it cannot read', async (t) => {
  const { store, reads } = await past(t)
  await store.log.append('flag-ns+odd', [event('odd', { type: 'FlagPainted', data: {} })], 'none')
  const [row] = await reads.rows(101n, [['flags', 'ns+odd']], never)
  t.match(row, { doc: undefined, unreadable: { stream: 'flag-ns+odd', type: 'FlagPainted' } })
})

await t.test('the worker thread for reads of past states lists tokens whose rows are not written yet', async (t) => {
  const { store, reads } = await past(t)
  const row = {
    key: 't1',
    revision: 0n,
    position: 101n,
    changes: 1n,
    doc: { ...tokenIssued.data, began: 101, createdAt: '2026' },
  }
  await store.views
    .build(tokens)
    .then(({ swap }) => swap({ position: 0n, event: '', log: '', events: 0, rows: 0, changes: 0 }))
  await store.views.put(tokens, [row])
  const asked = { where: {}, status: undefined, now: '2026', limit: 10, count: 10, closed: [] }
  t.strictSame(await reads.tokens(200n, asked, never), { ids: ['t1'], total: 1, left: 0 })
})

await t.test('the main thread keeps running while the worker thread reads a past state', async (t) => {
  const { reads } = await past(t, 5_000)
  let turns = 0
  const over = new AbortController()
  const read = reads.rows(5_000n, [flag], never).finally(() => over.abort())
  for (; !over.signal.aborted; turns++) await setImmediate()
  await read
  t.ok(turns > 10, `${turns} turns`)
})

/** Answering end of a port whose reads continue until aborted. */
const answering = (t: Test, rows?: AsOfReads['rows']) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  let steps = 0
  const endless = async (signal: AbortSignal): Promise<never> => {
    for (;;) {
      signal.throwIfAborted()
      steps++
      await setImmediate()
    }
  }
  const over = answerReads(port2, {
    positionOf: (_, signal) => endless(signal),
    rows: rows ?? ((_, __, signal) => endless(signal)),
    tokens: (_, __, signal) => endless(signal),
  })
  const heard: ThreadResponse[] = []
  port1.on('message', (message: ThreadResponse) => void heard.push(message))
  return { say: (asked: ThreadRequest) => port1.postMessage(asked), heard, over, steps: () => steps }
}

await t.test('an aborted read stops and does not affect other reads', async (t) => {
  const { say, heard, over, steps } = answering(t)
  say([1, 'positionOf', ['x']])
  say([2, 'rows', [1n, [flag]]])
  await eventually(() => steps() > 10, 'both readings')
  say([1, 'stop'])
  await eventually(() => heard.length === 1, 'the end of the first reading')
  t.match(heard, [[1, { reason: 'cancelled' }]])
  const before = steps()
  await eventually(() => steps() > before + 10, 'more steps of the second')
  say('close')
  await over
  await quiet(t, steps, () => eventually(() => heard.length === 2, 'the end of the second'), 'nothing is read any more')
  t.match(heard[1], [2, { reason: 'backend_unavailable' }])
})

await t.test('the worker thread for reads of past states sends its rows in chunks', async (t) => {
  const row = { key: 'k', revision: 0n, position: 1n, changes: 1n, doc: { text: 'x'.repeat(PIECE / 4) } }
  const { say, heard } = answering(t, async () => [row])
  say([1, 'rows', [1n, Array.from({ length: 100 }, () => flag)]])
  await eventually(() => heard.length === 1, 'the rows')
  const [, { value }] = heard[0] as [number, { value: readonly string[] }]
  t.strictSame(
    value.map(rowOf),
    Array.from({ length: 4 }, () => row),
  )
})

await t.test('an aborted read of a past state is rejected with its reason once the worker has stopped', async (t) => {
  const { reads, told } = await past(t, 5_000)
  const stop = new AbortController()
  // Enough work that the abort arrives before the end.
  const much = Array.from({ length: 1_000 }, () => flag)
  const reading = reads.rows(5_000n, much, stop.signal)
  stop.abort(new Error('left'))
  await t.rejects(reading, { message: 'left' })
  await t.rejects(reads.rows(5_000n, much, stop.signal), { message: 'left' })
  t.strictSame(told, [])
})

await t.test('if the worker thread for past states dies, its reads fail, and it is restarted', async (t) => {
  const { reads, told, begun } = await past(t)
  const rows = t.rejects(reads.rows(100n, [flag], never), unavailable)
  const position = t.rejects(reads.positionOf('2026-01-01T00:00:00.000Z', never), unavailable)
  await setImmediate()
  await begun[0]!.terminate()
  await Promise.all([rows, position])
  t.match(told, [
    { level: 'ERROR', adapter: 'past', why: 'the thread that reads past states has ended', advice: /disk/ },
  ])
  t.match(await reads.rows(100n, [flag], never), [{ revision: 99n }])
  t.strictSame([told.length, begun.length], [1, 2])
})

await t.test('reads of past states fail until their worker thread can be started again', async (t) => {
  const { directory, reads, told } = await past(t)
  const [views, away] = [`${directory}/views.sqlite`, `${directory}/away`]
  await rename(views, away)
  await t.rejects(reads.rows(100n, [flag], never), unavailable)
  t.match(told, [{ level: 'ERROR', adapter: 'past', why: /open/ }])
  await rename(away, views)
  t.match(await reads.rows(100n, [flag], never), [{ revision: 99n }])
  t.equal(told.length, 1)
})

await t.test('closing the service during a read of a past state logs no error', async (t) => {
  const { reads, told, begun } = await past(t, 5_000)
  const reading = t.rejects(reads.rows(5_000n, [flag], never), unavailable)
  await reads.close()
  await reading
  t.strictSame([begun[0]!.threadId, told], [-1, []])
  await t.rejects(reads.rows(1n, [flag], never), unavailable)
})

await t.test('flags are evaluated while a past list is read, and the instance can close during the read', async (t) => {
  const service = await startService(t)
  const { request } = service
  for (let n = 0; n < 40; n++)
    await request('POST', '/api/v1/flags', { key: `f${n}`, name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
  const { headers } = await request('DELETE', '/api/v1/flags/none')
  const reads = async () =>
    Number(
      /store_calls_total\{[^}]*port="log"[^}]*operation="read"[^}]*outcome="ok"[^}]*\} (\d+)/.exec(
        await service.metrics(),
      )![1],
    )
  const before = await reads()
  const list = () => request<{ totalCount: number }>('GET', `/api/v1/flags?at=${String(headers['event-position'])}`)
  let evaluations = 0
  const over = new AbortController()
  const listed = list().finally(() => over.abort())
  for (; !over.signal.aborted; evaluations++) {
    const body = { namespaceKey: 'default', flagKey: 'f1', entityId: 'e', context: {} }
    t.equal((await request('POST', '/evaluate/v1/boolean', body)).status, 200)
  }
  t.equal((await listed).json.totalCount, 40)
  t.ok(evaluations > 0)
  t.ok(before > 0)
  const read = (await reads()) - before
  t.ok(read < 40, `the list reads 40 streams, the thread of requests ${read} meanwhile`)
  const last = list().catch(() => undefined)
  await service.close()
  await last
})
