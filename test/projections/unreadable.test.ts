import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import type { Stored } from '../../src/events/log.ts'
import type { TokenEvent } from '../../src/events/token.ts'
import { unreadable } from '../../src/events/unreadable.ts'
import { type FoldSources, foldRow } from '../../src/projections/engine/fold-rows.ts'
import { flags } from '../../src/projections/flags.ts'
import { type Projection, project } from '../../src/projections/projection.ts'
import { namespaces } from '../../src/projections/resource-model.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'
import { noted } from '../noted.ts'
import { flagCreated, namespaceCreated, tokenIssued, variantAdded } from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'
import { rowAfter, told } from './stored.ts'

const archived = { type: 'FlagArchived', data: { namespace: 'ns', key: 'f', because: 'secret words' } }
const revoked = { type: 'TokenRevoked', data: { id: 't1' } }
const FLAG = 'flag-ns+f'

const fold = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  events: readonly Stored[],
  from?: Row<D>,
) => events.reduce<Row<D> | undefined>((row, event) => project(projection, row, event), from)!

await t.test('an event of unknown type makes its document unavailable, and the error names the event', async (t) => {
  const events = told(FLAG, [flagCreated, archived, variantAdded('v1')])
  const before = fold(flags, events.slice(0, 1))
  const row = fold(flags, events)
  t.equal(row.doc, undefined)
  t.equal(row.revision, 2n, 'it keeps its place')
  t.equal(row.changes, 3n, 'events that nobody can read changed it too')
  const { before: known, ...event } = row.unreadable!
  t.strictSame(known, before.doc, 'what it was is kept')
  t.match(event, { stream: FLAG, revision: '1', type: 'FlagArchived', position: '20' })
  t.match(event.why, /newer version/)
})

await t.test('a log line about invalid event data names the fields without their values', async (t) => {
  const [good, next] = told(FLAG, [flagCreated, variantAdded('v1')]) as [Stored, Stored]
  for (const data of ['{"variant":"secret words', '"secret words"', '{"variant":"secret words"}', '[]', 'null', '{}']) {
    const row = fold(flags, [good, { ...next, data }])
    t.equal(row.doc, undefined, data)
    t.notMatch(row.unreadable!.why, /secret/)
    t.match(row.unreadable, { type: 'VariantAdded', revision: '1' })
  }
})

await t.test('a missing revision makes its document unavailable', async (t) => {
  const events = told('token-t1', [tokenIssued, { type: 'TokenExpiryChanged', data: { id: 't1', to: 'x' } }])
  const row = fold(tokens, events.slice(1))
  t.match(row.unreadable, { revision: '0', type: '', position: '20' })
  t.match(row.unreadable!.why, /lost revisions 0 to 0/)
  t.equal(row.unreadable!.before, undefined)
})

await t.test('an event that ends a token takes effect after events that cannot be read', async (t) => {
  const odd = { type: 'TokenPaused', data: {} }
  const row = fold(tokens, told('token-t1', [tokenIssued, odd, revoked]))
  t.equal(row.unreadable, undefined)
  t.type(row.doc?.deletedAt, 'string')
  const cut = fold(tokens, told('token-t1', [tokenIssued, odd, revoked]).slice(2))
  t.equal(cut.unreadable, undefined)
  t.equal(cut.doc, undefined, 'of what nobody knows nothing is made up')
})

await t.test('a token whose first event cannot be read keeps its digest', async (t) => {
  const [event] = told('token-t1', [{ ...tokenIssued, type: 'TokenIssued.v9' }]) as [Stored]
  t.equal(fold(tokens, [event]).unreadable!.clue, tokenIssued.data.digest)
  const cut = { ...event, type: 'TokenIssued', data: `{"attributes":{},"digest":"${tokenIssued.data.digest}","id"` }
  t.equal(fold(tokens, [cut]).unreadable!.clue, tokenIssued.data.digest)
})

await t.test('unreadable events that the read model does not use are ignored', async (t) => {
  const row = rowAfter(namespaces, 'namespace-ns', [
    namespaceCreated,
    { type: 'FlagRegistered.v7', data: 'anything' } as never,
  ])
  t.equal(row!.unreadable, undefined)
  t.equal(row!.revision, 1n)
})

await t.test('a version that can read the event restores the document', async (t) => {
  const newer: typeof flags = {
    ...flags,
    read: (wire, json) => (wire === 'FlagArchived' ? ({ type: wire, data: {} } as never) : flags.read(wire, json)),
    on: { ...flags.on, FlagArchived: (doc: object) => ({ ...doc, description: 'archived' }) } as never,
  }
  const events = told(FLAG, [flagCreated, archived, variantAdded('v1')])
  t.equal(fold(newer, events).doc?.description, 'archived')
  t.equal(fold(newer, events).doc?.variants.length, 1)
})

await t.test('a stream that lacks its first events is reported as incomplete at the beginning', async (t) => {
  const events = told('token-t1', [tokenIssued, revoked, revoked])
  const log = memoryLog()
  await log.append('token-t1', events, 'none')
  const all = [...log.all]
  const cut = { ...log, read: (stream: string, from = 0n) => log.read(stream, from < 2n ? 2n : from) }
  const row = await foldRow<TokenDoc, TokenEvent>(
    { log: cut, clock: virtualClock() },
    { ...tokens, ends: new Set() },
    all.slice(2),
    undefined,
  )
  t.equal(row.revision, 2n)
  t.match(row.unreadable!.why, /lost revisions 0 to 1/)
})

await t.test('a stream that ends before a known event is reported as incomplete at the end', async (t) => {
  const events = told('flag-ns+f', [flagCreated, variantAdded('v1')])
  const log = memoryLog()
  await log.append('flag-ns+f', events, 'none')
  const all = [...log.all]
  const clock = virtualClock()
  /** Returns the row or error after 500 ms of reading such a log. */
  const folded = async (shown: FoldSources['log']) => {
    const folding = noted(foldRow({ log: shown, clock }, flags, all.slice(1), undefined))
    await clock.advance(511)
    return folding[0]
  }
  const nothing = async function* () {}
  t.ok(((await folded({ ...log, read: nothing })) as Row).unreadable)
  t.match(
    await folded({ read: nothing, head: async () => all[0]!.position }),
    new Refusal('backend_unavailable'),
    'while the log may still show it nothing is lost',
  )
  const gone = unreadable({ stream: 'flag-ns+f', revision: '0', type: '', position: '', why: 'it was deleted' })
  const deleted = () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(gone) }) })
  t.equal(((await folded({ ...log, read: deleted })) as Row).unreadable?.why, 'it was deleted')
})
