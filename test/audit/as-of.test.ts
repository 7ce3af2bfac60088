import { randomUUID } from 'node:crypto'
import t from 'tap'
import { asOf } from '../../src/audit/as-of.ts'
import { flagStore } from '../../src/projections/flag-store.ts'
import { namespaceCreated } from '../samples.ts'
import { memoryLog } from '../memory-log.ts'

const time = '2026-01-01T00:00:00.000Z'
const updated = { type: 'NamespaceUpdated', data: { key: 'ns', name: { from: 'a', to: 'b' } } } as const

const reading = async () => {
  const log = memoryLog({ pageSize: 1 })
  const events = [namespaceCreated, ...Array.from({ length: 9 }, () => updated)].map(({ type, data }) => ({
    id: randomUUID(),
    type,
    time,
    data: JSON.stringify(data),
    meta: '{}',
  }))
  await log.append('namespace-ns', events, 'none')
  let pages = 0
  const counted: typeof log = {
    ...log,
    read: async function* (stream, from) {
      for await (const page of log.read(stream, from)) {
        pages++
        yield page
      }
    },
  }
  const now = () => new Date(time)
  const flags = flagStore(() => undefined)
  const views = { scan: async function* () {} }
  return {
    asOf: asOf({ log: counted, views, flagStore: flags, compile: () => undefined, clock: { now, newest: now } }),
    pages: () => pages,
    head: await log.head(),
  }
}

await t.test('a reading whose signal has aborted reads no further, and ends with the reason', async (t) => {
  const { asOf, pages, head } = await reading()
  const stop = new AbortController()
  const then = await asOf({ position: head }, stop.signal)
  const found = then.namespace('ns')
  const refused = t.rejects(found, { message: 'nobody waits' })
  stop.abort(new Error('nobody waits'))
  await refused
  t.ok(pages() <= 1, `${pages()} pages were read`)
})

await t.test('a reading that is waited for reads on', async (t) => {
  const { asOf, pages, head } = await reading()
  const then = await asOf({ position: head }, new AbortController().signal)
  t.match(await then.namespace('ns'), { revision: 9n })
  t.equal(pages(), 10)
})
