import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { foldRow } from '../../src/projections/engine/fold-rows.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import { lagging, memoryLog } from '../memory-log.ts'
import { noted } from '../noted.ts'
import { tokenIssued } from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'
import { told } from './stored.ts'

const projection = anyProjection(tokens)
const STREAM = 'token-t1'

/** Issued, shortened and revoked token on a lagging leader. */
const setup = async () => {
  const events = told(STREAM, [
    tokenIssued,
    { type: 'TokenExpiryChanged', data: { id: 't1', to: '2026-01-15T00:00:00.000Z' } },
    { type: 'TokenRevoked', data: { id: 't1' } },
  ])
  const log = memoryLog()
  await log.append(STREAM, events, 'none')
  const clock = virtualClock()
  const leader = lagging(log)
  /** Times at which the stream was read. */
  const reads: number[] = []
  const read: typeof log.read = (stream, from) => {
    reads.push(clock.monotonic())
    return leader.log.read(stream, from)
  }
  const sources = { clock, log: { ...leader.log, read } }
  return { clock, sources, hide: leader.hide, reads, events: [...log.all] }
}
const ended = (row: { readonly revision: bigint; readonly doc: object | undefined }) =>
  row.revision === 2n && (row.doc as TokenDoc).deletedAt !== undefined

await t.test('a row has the revision of its event, even if the log returned later events', async (t) => {
  const { sources, hide, events, reads } = await setup()
  hide(({ revision }) => revision === 2n)
  t.ok(ended(await foldRow(sources, projection, events.slice(2), undefined)))
  t.strictSame(reads, [0], 'what was delivered is not asked for')
  const first = await foldRow(sources, projection, events.slice(0, 1), undefined)
  t.ok(ended(await foldRow(sources, projection, events.slice(1), first)))
  t.ok(ended(await foldRow(sources, projection, events, first)), 'what the row holds already is passed over')
  t.strictSame(reads, [0], 'events right behind the row need no read')
})

await t.test('a row has the revision of the last event, and an older event does not replace it', async (t) => {
  const { sources, events } = await setup()
  t.equal((await foldRow(sources, projection, events.slice(1, 2), undefined)).revision, 1n)
  const last = await foldRow(sources, projection, events, undefined)
  t.equal(await foldRow(sources, projection, events.slice(0, 2), last), last)
})

await t.test('an event that is missing between others is read again until it is visible', async (t) => {
  const { clock, sources, hide, events, reads } = await setup()
  hide(({ revision }) => revision > 0n && reads.length < 4)
  const folding = foldRow(sources, projection, events.slice(2), undefined)
  await clock.advance(7)
  t.ok(ended(await folding))
  t.strictSame(reads, [0, 1, 3, 7], 'after pauses, each twice the one before')
})

await t.test('an event that never becomes visible makes the update of its row fail', async (t) => {
  const { clock, sources, hide, events, reads } = await setup()
  hide(() => true)
  const folding = noted(foldRow(sources, projection, events.slice(2), undefined))
  await clock.advance(510)
  t.strictSame(folding, [])
  await clock.advance(1)
  t.match(folding, [new Refusal('backend_unavailable')])
  t.strictSame(reads, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511], 'ten reads, and half a second, are all that it gets')
})
