import t from 'tap'
import { isRefusal, refuse } from '../../src/base/errors.ts'
import type { Reservations } from '../../src/commands/reservations.ts'
import type { EventLog } from '../../src/events/log.ts'
import { memoryLog } from '../memory-log.ts'
import { ofFlag, ofSegment } from '../samples.ts'
import { begin, changesAsk, complaints, context, flagAsk, instance, rolloutAsk, ruleAsk } from './world.ts'

/** Log of a process that crashes at its nth append, just before or after it is durable. Later operations fail. */
const dying = (log: EventLog, nth: number, after: boolean): EventLog => {
  let left = nth
  const gone = () => refuse('backend_unavailable')
  return {
    ...log,
    append: async (...args) => {
      left--
      if (left < 0 || (left === 0 && !after)) return gone()
      const appended = await log.append(...args)
      return left === 0 ? gone() : appended
    },
    read: (...args) => (left <= 0 ? gone() : log.read(...args)),
  }
}

const start = new Date('2026-01-01T00:00:00.000Z')
const later = (ms: number) => () => new Date(start.getTime() + ms)

const crashes: Readonly<Record<string, (reservations: Reservations) => Promise<unknown>>> = {
  createFlag: (reservations) => reservations.createFlag(flagAsk('g'), context),
  'createFlag, refused': (reservations) => reservations.createFlag(flagAsk('f'), context),
  deleteFlag: (reservations) => reservations.deleteFlag(ofFlag, context),
  addRule: (reservations) => reservations.addRule({ ...ruleAsk('r1', 's', 'q'), rank: 0 }, context),
  'addRule, refused': (reservations) => reservations.addRule({ ...ruleAsk('r1', 's', 'q'), rank: 1 }, context),
  updateRule: (reservations) => reservations.updateRule(ruleAsk('r0', 'q'), context),
  removeRule: (reservations) => reservations.removeRule({ ...ofFlag, id: 'r0' }, context),
  changeFlag: (reservations) => reservations.changeFlag(changesAsk('s', 'q'), context),
  'changeFlag, refused': (reservations) => reservations.changeFlag(changesAsk('s', 'missing'), context),
  addRollout: (reservations) => reservations.addRollout({ ...rolloutAsk('o1', 's', 'q'), rank: 0 }, context),
  deleteSegment: (reservations) => reservations.deleteSegment({ ...ofSegment, key: 'q' }, context),
}

for (const [name, crash] of Object.entries(crashes)) {
  await t.test(`after a crash at any write of ${name} the data are valid and can be deleted`, async (t) => {
    let crashed = 0
    for (let nth = 1; nth <= 6; nth++) {
      for (const after of [false, true]) {
        const log = memoryLog()
        await begin(log)
        const { reservations } = instance(log, 'before')
        await reservations.addRule({ ...ruleAsk('r0', 's'), rank: 0 }, context)
        const error = await crash(instance(dying(log, nth, after), 'dying').reservations).then(
          () => undefined,
          (error: unknown) => error,
        )
        if (isRefusal(error, 'backend_unavailable')) crashed++
        t.strictSame(await complaints(log), [], `died at append ${nth}`)

        const { reservations: survivor } = instance(log, 'after', later(60_001))
        for (const key of ['f', 'g']) await survivor.deleteFlag({ ...ofFlag, key }, context)
        for (const key of ['s', 'q']) await survivor.deleteSegment({ ...ofSegment, key }, context)
        await survivor.deleteNamespace({ key: 'ns', force: false }, context).catch((error: unknown) => {
          if (!isRefusal(error, 'not_found')) throw error
        })
        t.strictSame(await complaints(log), [])
        t.equal(log.all.filter(({ type }) => type === 'NamespaceDeleted').length, 1, 'the namespace is gone')
      }
    }
    t.ok(crashed > 0, `${crashed} crashes seen`)
  })
}

await t.test('a reservation that may still be used blocks a deletion for one minute', async (t) => {
  const log = memoryLog()
  await begin(log)
  await instance(dying(log, 1, true), 'dying', later(0))
    .reservations.addRule({ ...ruleAsk('r1', 's'), rank: 0 }, context)
    .catch(() => {})
  const deleteAt = (ms: number) => instance(log, 'after', later(ms)).reservations.deleteSegment(ofSegment, context)
  await t.rejects(deleteAt(60_000), { message: 'segment "ns/s" is in use' })
  const { stored } = await deleteAt(60_001)
  t.strictSame(
    stored.map(({ type }) => type),
    ['ReservationVoided', 'SegmentDeleted'],
  )
})
