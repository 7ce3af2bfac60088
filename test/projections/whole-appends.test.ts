import t from 'tap'
import type { FlagChange } from '../../src/commands/flag/flag.ts'
import { memory } from '../../src/projections/engine/memory.ts'
import type { FlagDoc } from '../../src/projections/flags.ts'
import { flags } from '../../src/projections/flags.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import type { Row } from '../../src/projections/views.ts'
import { begin, changesAsk, context, instance } from '../commands/world.ts'
import { memoryLog } from '../memory-log.ts'
import { ofFlag } from '../samples.ts'
import { turnsOf } from '../turns.ts'
import { virtualClock } from '../virtual-clock.ts'

await t.test('the events of one append become visible together, wherever pages end', async (t) => {
  const log = memoryLog()
  await begin(log)
  const { reservations } = instance(log)
  const before = log.all.length
  await reservations.changeFlag(changesAsk('s', 'q'), context)
  await reservations.changeFlag(changesAsk('s', 'q'), context)
  await reservations.removeRule({ ...ofFlag, id: 'rule-s' }, context)
  const events = log.all.filter(({ stream }) => stream.startsWith('flag-'))
  const appended = log.all.slice(before).filter(({ stream }) => stream.startsWith('flag-'))
  t.equal(appended.length, 5, 'four of one append, and one')

  for (const size of [1, 2, 3, events.length]) {
    const shown: (readonly [rules: number, rollouts: number])[] = []
    const remember = (_: unknown, { doc }: Row) => {
      const { rules, rollouts } = doc as FlagDoc
      shown.push([rules.length, rollouts.length])
    }
    const { applyFollowed, reach } = memory({
      clock: virtualClock(),
      log,
      projections: [anyProjection(flags)],
      remember,
    })
    for (let at = 0; at < events.length; at += size) {
      const page = events.slice(at, at + size)
      await applyFollowed(page[0]!.stream, page)
      reach(page.at(-1)!.position, page)
    }
    const all = [...new Set(shown.map(String))]
    t.ok(
      all.every((each) => ['0,0', '2,2', '1,2'].includes(each)),
      `pages of ${size}: ${all.join(' ')}`,
    )
    t.strictSame(shown.at(-1), [1, 2])
  }
})

await t.test('an append that never becomes complete blocks nothing', async (t) => {
  const log = memoryLog()
  await begin(log)
  await instance(log).reservations.changeFlag(changesAsk('s', 'q'), context)
  const events = log.all.filter(({ stream }) => stream.startsWith('flag-')).slice(0, -2)
  const cut = { ...log, read: async function* () {} }
  const revisions: bigint[] = []
  const remember = (_: unknown, { revision }: Row) => void revisions.push(revision)
  const { applyFollowed } = memory({ clock: virtualClock(), log: cut, projections: [anyProjection(flags)], remember })
  await applyFollowed(events[0]!.stream, events)
  t.strictSame(revisions, [events.at(-1)!.revision])
})

await t.test('other work runs between the events of an append', async (t) => {
  const log = memoryLog()
  await begin(log)
  const { reservations } = instance(log)
  const part = { type: 'threshold', percentage: 1, value: true }
  const changes = Array.from(
    { length: 50 },
    (_, n) => ({ op: 'AddRollout', id: `o${n}`, description: '', part }) as FlagChange,
  )
  await reservations.changeFlag({ ...ofFlag, changes }, context)
  const events = log.all.filter(({ stream }) => stream.startsWith('flag-'))
  const { applied } = memory({
    clock: virtualClock(),
    log,
    projections: [anyProjection(flags)],
    remember: () => undefined,
  })
  const turns = await turnsOf(() => applied(events))
  t.ok(events.length > 50 && turns >= events.length, `${turns} turns for ${events.length} events`)
})

await t.test('a command gets the row after its own events, although memory has later ones', async (t) => {
  const log = memoryLog()
  await begin(log)
  const { reservations } = instance(log)
  await reservations.changeFlag(changesAsk('s', 'q'), context)
  await reservations.removeRule({ ...ofFlag, id: 'rule-s' }, context)
  const events = log.all.filter(({ stream }) => stream.startsWith('flag-'))
  const rows: Row[] = []
  const { applied, applyFollowed } = memory({
    clock: virtualClock(),
    log,
    projections: [anyProjection(flags)],
    remember: (_, row) => void rows.push(row),
    recall: () => () => rows.at(-1),
  })
  await applyFollowed(events[0]!.stream, events)
  t.equal((rows.at(-1)!.doc as FlagDoc).rules.length, 1)
  const own = await applied(events.slice(0, -1))
  const row = own(flags, `${ofFlag.namespace}+${ofFlag.key}`)
  t.match(row, { revision: events.at(-2)!.revision, doc: { rules: { length: 2 } } })
  t.equal(rows.length, 1, 'memory keeps the later row')
})
