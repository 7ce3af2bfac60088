import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { Refusal } from '../../src/errors.ts'
import { foldRow } from '../../src/projections/engine/fold-rows.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import { lagging, memoryLog } from '../memory-log.ts'
import { tokenIssued } from '../samples.ts'
import { told } from './told.ts'

const projection = anyProjection(tokens)
const STREAM = 'token-t1'

/** A token that was issued, shortened and revoked, over a leader that may show less. */
const setup = async () => {
  const events = told(STREAM, [
    tokenIssued,
    { type: 'TokenExpiryChanged', data: { id: 't1', to: '2026-01-15T00:00:00.000Z' } },
    { type: 'TokenRevoked', data: { id: 't1' } },
  ])
  const log = memoryLog()
  await log.append(STREAM, events, 'none')
  return { ...lagging(log), events: [...log.all] }
}
const ended = (row: { readonly revision: bigint; readonly doc: object | undefined }) =>
  row.revision === 2n && (row.doc as TokenDoc).deletedAt !== undefined

await t.test('a row has reached the event that it is made for, whatever a read shows of that', async (t) => {
  const { log, hide, events, reads } = await setup()
  hide(({ revision }) => revision === 2n)
  t.ok(ended(await foldRow({ log, clock: systemClock }, projection, events.slice(2), undefined)))
  t.equal(reads(), 1, 'what was delivered is not asked for')
  const first = await foldRow({ log, clock: systemClock }, projection, events.slice(0, 1), undefined)
  t.ok(ended(await foldRow({ log, clock: systemClock }, projection, events.slice(1), first)))
  t.ok(
    ended(await foldRow({ log, clock: systemClock }, projection, events, first)),
    'what the row holds already is passed over',
  )
  t.equal(reads(), 1, 'events right behind the row need no read')
})

await t.test('the row stands at the last of the events, and a later one is kept', async (t) => {
  const { log, events } = await setup()
  t.equal((await foldRow({ log, clock: systemClock }, projection, events.slice(1, 2), undefined)).revision, 1n)
  const last = await foldRow({ log, clock: systemClock }, projection, events, undefined)
  t.equal(await foldRow({ log, clock: systemClock }, projection, events.slice(0, 2), last), last)
})

await t.test('where an event between is not shown it is read again until it is', async (t) => {
  const { log, hide, events, reads } = await setup()
  hide(({ revision }) => revision > 0n && reads() < 4)
  t.ok(ended(await foldRow({ log, clock: systemClock }, projection, events.slice(2), undefined)))
  t.equal(reads(), 4)
})

await t.test('what is never shown makes no row', async (t) => {
  const { log, hide, events } = await setup()
  hide(() => true)
  await t.rejects(
    foldRow({ log, clock: systemClock }, projection, events.slice(2), undefined),
    new Refusal('backend_unavailable'),
  )
})
