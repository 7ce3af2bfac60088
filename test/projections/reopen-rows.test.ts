import t from 'tap'
import { loadMemory } from '../../src/projections/engine/memory.ts'
import { reopenRows } from '../../src/projections/engine/runner.ts'
import { flags } from '../../src/projections/flags.ts'
import { anyProjection, project } from '../../src/projections/projection.ts'
import type { Row } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import { flagCreated, variantAdded } from '../samples.ts'
import { told } from './stored.ts'

const older = anyProjection(flags)
/** Version with one more event type. */
const newer = anyProjection({
  ...flags,
  read: (wire, json) => (wire === 'FlagArchived' ? ({ type: wire, data: {} } as never) : flags.read(wire, json)),
  on: { ...flags.on, FlagArchived: (doc: object) => ({ ...doc, description: 'archived' }) } as never,
})

/** Log with a flag that only the newer version can read, and views of the older one. */
const setup = async () => {
  const log = memoryLog()
  await log.append('flag-ns+f', told('flag-ns+f', [flagCreated, { type: 'FlagArchived', data: {} }]), 'none')
  const row = log.all.reduce<Row | undefined>((before, event) => project(older, before, event), undefined)!
  const [put, errors]: [Row[], unknown[]] = [[], []]
  let down = false
  const { views, rowsOf } = memoryViews(({ name, rows }) => {
    if (name !== 'put') return
    if (down) throw new Error('down')
    put.push(...rows)
  })
  rowsOf(flags).set(row.key, row)
  const start = async (projection: typeof newer) => {
    const memory: Row[] = []
    const healed = reopenRows(log, views, (error) => errors.push(error))
    const sources = { log, views, projections: [projection], upTo: 0n }
    await loadMemory(sources, { remember: (_, one) => memory.push(one) }, healed)
    return memory[0]!
  }
  return { log, row, put, errors, start, cut: () => void (down = true) }
}

await t.test('a version that can read an event makes its document available again', async (t) => {
  const { row, put, start } = await setup()
  t.ok(row.unreadable)
  const now = await start(newer)
  t.equal(now.unreadable, undefined)
  t.match(now.doc, { key: 'f', description: 'archived' })
  t.equal(now.revision, row.revision)
  t.strictSame(put, [now])
})

await t.test('a version that cannot read an event leaves its document unavailable', async (t) => {
  const { row, put, start } = await setup()
  t.equal(await start(older), row)
  t.strictSame(put, [])
})

await t.test('a document that becomes available again contains later events', async (t) => {
  const { log, start, errors, cut } = await setup()
  await log.append('flag-ns+f', told('flag-ns+f', [variantAdded('v1')], 2), 1n)
  cut()
  const now = await start(newer)
  t.equal(now.revision, 2n)
  t.match(now.doc, { variants: [{ id: 'v1' }] })
  t.equal(errors.length, 1)
})
