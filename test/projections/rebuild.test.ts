import t from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { progressLines } from '../../src/app/telemetry/limited-lines.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { projections } from '../../src/projections/all.ts'
import { type Progress, rebuild } from '../../src/projections/engine/rebuild.ts'
import { project } from '../../src/projections/projection.ts'
import type { Row, Views } from '../../src/projections/views.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'

const clock = virtualClock()
const time = '2026-01-01T00:00:00.000Z'
let serial = 0
const event = (type: string, data: object) => ({
  id: `e${++serial}`,
  type,
  time,
  data: JSON.stringify(data),
  meta: '{}',
})
const issued = (id: string, description = '') =>
  event('TokenIssued', {
    id,
    digest: `k1.${id}`,
    method: 'token',
    issuedAt: time,
    attributes: description === '' ? {} : { 'token.description': description },
    metadata: {},
  })
const revoked = (id: string) => event('TokenRevoked', { id })
const namespaceMade = (key: string) =>
  event('NamespaceCreated', { key, incarnation: key, name: key, description: '', protected: false })

/** Log of tokens, every second one revoked much later, with namespaces in between. */
const filled = async (tokens: number, description = '', pageSize = 50) => {
  const log = memoryLog({ pageSize })
  for (let n = 0; n < tokens; n++) {
    await log.append(`token-t${n}`, [issued(`t${n}`, description)], 'none')
    if (n % 10 === 0) await log.append(`namespace-n${n}`, [namespaceMade(`n${n}`)], 'none')
  }
  for (let n = 0; n < tokens; n += 2) await log.append(`token-t${n}`, [revoked(`t${n}`)], 0n)
  return log
}

const folded = async (log: EventLog) => {
  const rows = new Map<string, Row>()
  for await (const page of log.readAll(0n))
    for (const stored of page)
      for (const projection of projections)
        if (stored.stream.startsWith(`${projection.category}-`))
          rows.set(
            `${projection.name} ${stored.stream}`,
            project(projection, rows.get(`${projection.name} ${stored.stream}`), stored),
          )
  return rows
}
const scanned = async (views: Views) => {
  const rows = new Map<string, Row>()
  for (const projection of projections)
    for await (const page of views.scan(projection))
      for (const row of page) rows.set(`${projection.name} ${projection.category}-${row.key}`, row)
  return rows
}
const plain = (rows: ReadonlyMap<string, Row>) =>
  [...rows]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([stream, { doc, ...row }]) => [
      stream,
      String(row.revision),
      String(row.position),
      String(row.changes),
      doc && (JSON.parse(JSON.stringify(doc)) as object),
    ])

const opened = async (directory: string) =>
  openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => {
      throw error
    },
  })

await t.test('all read models are rebuilt in one pass, with the same rows as event by event', async (t) => {
  const inner = await filled(300)
  const reads: (readonly [bigint, bigint | undefined])[] = []
  const log: EventLog = {
    ...inner,
    readAll: (after, to) => {
      reads.push([after, to])
      return inner.readAll(after, to)
    },
  }
  const { views, close } = await opened(await newDirectory(t))
  t.teardown(close)
  const told: Progress[] = []
  await rebuild({ clock, log, views }, projections, (progress) => told.push(progress))
  const head = await log.head()
  t.strictSame(reads, [[0n, head]])
  t.strictSame(plain(await scanned(views)), plain(await folded(inner)))
  const [first] = projections
  t.match(await views.checkpoint(first!), { position: head, events: 480, rows: 300, log: (await inner.first())!.id })
  t.strictSame(
    told.map(({ done }) => done),
    [50, 100, 150, 200, 250, 300, 350, 400, 450, 480],
  )
})

await t.test('during a rebuild few rows are in memory, and the others are read again when needed', async (t) => {
  const log = await filled(40, 'x'.repeat(1_000_000), 4)
  const store = await opened(await newDirectory(t))
  t.teardown(store.close)
  const asked: string[] = []
  const views: Views = {
    ...store.views,
    build: async (view) => {
      const building = await store.views.build(view)
      const { getMany } = building
      return { ...building, getMany: (keys) => (asked.push(...keys), getMany(keys)) }
    },
  }
  await rebuild({ clock, log, views }, projections)
  t.strictSame(
    asked,
    Array.from({ length: 20 }, (_, n) => `t${2 * n}`),
  )
  t.strictSame(plain(await scanned(store.views)), plain(await folded(log)))
})

/** Log whose reads fail after a number of pages, with the positions from which it was read. */
const ending = (inner: EventLog, pages: number) => {
  const from: bigint[] = []
  const readAll = async function* (after: bigint, to?: bigint): AsyncGenerator<readonly Stored[]> {
    from.push(after)
    let left = pages
    for await (const page of inner.readAll(after, to)) {
      if (left-- === 0) throw new Error('torn')
      yield page
    }
  }
  return { log: { ...inner, readAll }, from }
}

await t.test('an interrupted rebuild continues in the same or in another process', async (t) => {
  const inner = await filled(600, '', 20)
  const directory = await newDirectory(t)
  const { log, from } = ending(inner, 15)
  let store = await opened(directory)
  await t.rejects(rebuild({ clock, log, views: store.views }, projections), /torn/)
  await t.rejects(rebuild({ clock, log, views: store.views }, projections), /torn/)
  await store.close()
  store = await opened(directory)
  t.teardown(() => store.close())
  await t.rejects(rebuild({ clock, log, views: store.views }, projections), /torn/)
  for (const projection of projections) t.equal(await store.views.checkpoint(projection), undefined)
  await rebuild({ clock, ...ending(inner, 1000), views: store.views }, projections)
  t.strictSame(from, [0n, 2000n, 4000n], 'written down every ten pages')
  t.strictSame(plain(await scanned(store.views)), plain(await folded(inner)))
})

await t.test('a rebuild of another log is not continued', async (t) => {
  const [one, other] = [await filled(300, '', 10), await filled(300, '', 10)]
  const { views, close } = await opened(await newDirectory(t))
  t.teardown(close)
  await t.rejects(rebuild({ clock, ...ending(one, 25), views }, projections), /torn/)
  const { log, from } = ending(other, 1000)
  await rebuild({ clock, log, views }, projections)
  t.strictSame(from, [0n])
  t.strictSame(plain(await scanned(views)), plain(await folded(other)))
})

await t.test('an unfinished rebuild of a read model that is no longer needed is deleted', async (t) => {
  const log = await filled(300, '', 10)
  const { views, close } = await opened(await newDirectory(t))
  t.teardown(close)
  await rebuild({ clock, log, views }, projections)
  await t.rejects(rebuild({ clock, ...ending(log, 25), views }, projections), /torn/)
  const [tokens] = projections
  const at = (await views.checkpoint(tokens!))!
  t.equal(await views.mark(tokens!, at.position, { ...at, position: at.position + 1n }), true)
  const building = await views.build(tokens!)
  t.equal(building.checkpoint, undefined)
  t.same(await building.getMany(['t0']), [])
})

await t.test('a rebuild reports its progress every five seconds as a percentage', async (t) => {
  const lines: object[] = []
  const clock = virtualClock()
  const tell = progressLines({ info: (record: object) => lines.push(record) } as never, clock)
  for (const [n, ms] of [4_999, 1, 4_999, 1].entries()) {
    await clock.advance(ms)
    tell({ done: (n + 1) * 10, position: BigInt(n + 1), head: 4n })
  }
  t.strictSame(lines, [
    { events: 20, position: '2', head: '4', percent: 50 },
    { events: 40, position: '4', head: '4', percent: 100 },
  ])
})
