import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Moment } from '../../src/as-of/as-of.ts'
import { isRefusal } from '../../src/base/errors.ts'
import { resources } from '../../src/projections/all.ts'
import { markView } from '../../src/projections/history/log-marks.ts'
import { stateView } from '../../src/projections/history/stream-states.ts'
import type { Row, View } from '../../src/projections/views.ts'
import { flagCreated, namespaceCreated, ofFlag, segmentCreated, tokenIssued } from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'
import { history, never, second } from './history.ts'

const renamed = (name: string) => ({ type: 'FlagUpdated', data: { ...ofFlag, name: { from: 'a', to: name } } }) as const
const flagMade = (key: string) => ({ ...flagCreated, data: { ...flagCreated.data, key } })
const flagGone = (key: string) => ({ type: 'FlagDeleted', data: { ...ofFlag, key } })
const plain = (row: Row | undefined) =>
  row && [
    row.key,
    String(row.revision),
    String(row.position),
    String(row.changes),
    row.doc && JSON.parse(JSON.stringify(row.doc)),
    row.unreadable?.why,
  ]

const grantsIn = (...places: readonly string[]) => ({
  grants: places.map((place) => ({ place, rights: ['flag.read'] })),
  roles: {},
})

/** Possible events of a history by stream. */
const happenings = [
  ['namespace-ns', namespaceCreated],
  ['namespace-ns', { type: 'NamespaceUpdated', data: { key: 'ns', name: { from: 'a', to: 'b' } } }],
  ['namespace-ns', { type: 'NamespaceDeleted', data: { key: 'ns', incarnation: 'life-1', force: false } }],
  ['flag-ns+f', flagCreated],
  ['flag-ns+f', renamed('x')],
  ['flag-ns+f', flagGone('f')],
  ['flag-ns+g', flagMade('g')],
  ['flag-ns+g', { type: 'FlagPainted', data: {} }],
  ['segment-ns+s', segmentCreated],
  ['token-t1', tokenIssued],
  [
    'token-t2',
    { type: 'TokenIssued.v2', data: { ...tokenIssued.data, id: 't2', ...grantsIn('shop', 'blog'), policy: 1 } },
  ],
  ['token-t2', { type: 'TokenGrantsNarrowed', data: { id: 't2', to: grantsIn('shop'), policy: 2 } }],
  ['token-t1', { type: 'TokenRevoked', data: { id: 't1' } }],
] as const

const happened = fc.array(
  fc.record({ what: fc.nat(happenings.length - 1), times: fc.constantFrom(1, 1, 2, 40, 70), time: fc.nat(30) }),
  { minLength: 1, maxLength: 12 },
)
const made = async (steps: readonly { readonly what: number; readonly times: number; readonly time: number }[]) => {
  const told = history()
  for (const { what, times, time } of steps) {
    const [stream, event] = happenings[what]!
    await told.append(
      stream,
      Array.from({ length: times }, () => event),
      second(time),
    )
  }
  return told
}
/** Keys of all documents that ever existed. */
const wantedOf = (told: Awaited<ReturnType<typeof made>>) =>
  [...told.folded(told.all).keys()]
    .map((name) => name.split(' ') as [string, string])
    .filter(([model]) => resources.some(({ name }) => name === model))

await t.test('the state at a position is that of all events up to it, with or without stored states', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      happened,
      fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 5 }),
      async (steps, places, gone) => {
        const told = await made(steps)
        await told.built()
        const states = told.views.rowsOf(stateView)
        for (const n of gone) states.delete([...states.keys()][n % Math.max(1, states.size)] ?? '')
        for (const place of places) {
          const events = told.all.slice(0, place % (told.all.length + 1))
          const position = events.at(-1)?.position ?? 0n
          const [expected, wanted] = [told.folded(events), wantedOf(told)]
          const rows = await told.past.rows(position, wanted, never)
          for (const [n, [model, key]] of wanted.entries()) {
            const due = plain(expected.get(`${model} ${key}`))
            const found = plain(rows[n])
            // A closed document is not read further.
            if (due?.[5] !== undefined && model !== 'tokens') assert.equal(found?.[5], due[5])
            else assert.deepEqual(found, due, `${model} ${key} at ${position}`)
          }
        }
      },
    ),
    { numRuns: 60 },
  )
  t.pass('equal')
})

await t.test('a read as of a time selects all events up to it, even if clocks of instances differ', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      happened,
      fc.array(fc.nat(32), { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 3 }),
      async (steps, seconds, gone) => {
        const told = await made(steps)
        await told.built()
        const marks = told.views.rowsOf(markView)
        for (const n of gone) marks.delete([...marks.keys()][n % Math.max(1, marks.size)] ?? '')
        for (const at of seconds) {
          let [time, due] = ['', 0n]
          for (const event of told.all) {
            if (event.time > time) ({ time } = event)
            if (time > second(at)) break
            due = event.position
          }
          assert.equal(await told.past.positionOf(second(at), never), due)
        }
      },
    ),
    { numRuns: 60 },
  )
  t.pass('equal')
})

/** Flag with `changes` changes, one per second, and its stored states. */
const changed = async (changes: number) => {
  const told = history()
  await told.append('namespace-ns', [namespaceCreated], second(0))
  await told.append('flag-ns+f', [flagCreated], second(0))
  for (let n = 1; n <= changes; n++) await told.append('flag-ns+f', [renamed(`name ${n}`)], second(n))
  await told.built()
  return told
}

await t.test('a past state is computed from the last stored state before the moment', async (t) => {
  const told = await changed(2_000)
  for (const n of [0, 1, 30, 31, 32, 500, 999, 1_999, 2_000]) {
    told.counted()
    const then = await told.asOf({ instant: second(n) })
    t.match(await then.flag('ns', 'f'), { doc: { name: n === 0 ? 'Flag' : `name ${n}` }, revision: BigInt(n) })
    const { most, log } = told.counted()
    t.ok(most <= 33 && log <= 300, `${most} events of the stream, ${log} of the log at ${n}`)
  }
})

await t.test('a stored state that is forged or belongs to another log is ignored', async (t) => {
  const told = await changed(600)
  const spoil = (view: View, change: (doc: Record<string, unknown>) => object) => {
    const rows = told.views.rowsOf(view)
    for (const [key, row] of rows) rows.set(key, { ...row, doc: change(row.doc as Record<string, unknown>) })
  }
  const right = async () => {
    const then = await told.asOf({ instant: second(450) })
    t.match(await then.flag('ns', 'f'), { doc: { name: 'name 450' } })
  }
  spoil(stateView, (doc) => ({ ...doc, text: String(doc['text']).replaceAll('name', 'lie') }))
  await right()
  spoil(markView, (doc) => ({ ...doc, at: 10 }))
  await right()
  const other = await changed(600)
  for (const [key, row] of other.views.rowsOf(stateView)) told.views.rowsOf(stateView).set(key, row)
  await right()
})

await t.test('a past list reads only the items of its page', async (t) => {
  const told = history()
  await told.append('namespace-ns', [namespaceCreated], second(0))
  const keys = Array.from({ length: 60 }, (_, n) => `f${n}`)
  for (const key of keys) await told.append(`flag-ns+${key}`, [flagMade(key)], second(1))
  await told.append('flag-ns+f7', [flagGone('f7')], second(2))
  await told.append('flag-ns+f8', [{ type: 'FlagPainted', data: {} }], second(3))
  await told.append('flag-ns+f7', [flagMade('f7')], second(4))
  await told.append('flag-ns+late', [flagMade('late')], second(5))
  await told.built()
  told.counted()
  const listed = async (at: number) => {
    const then = await told.asOf({ instant: second(at) })
    return { then, all: (await then.flags('ns')).map(({ key }) => key.slice(3)), left: then.closed.flags() }
  }
  const without = (...gone: string[]) => keys.filter((key) => !gone.includes(key))
  t.strictSame((await listed(0)).all, [])
  t.match(await listed(1), { all: keys, left: 0 })
  t.match(await listed(2), { all: without('f7'), left: 0 })
  t.match(await listed(3), { all: without('f7', 'f8'), left: 1 })
  t.match(await listed(4), { all: [...without('f7', 'f8'), 'f7'], left: 1 })
  t.match(await listed(5), { all: [...without('f7', 'f8'), 'f7', 'late'], left: 1 })
  t.ok(
    told.counted().streams.every((stream) => stream.startsWith('namespace-')),
    'no flag was read for the list',
  )
  const { then } = await listed(1)
  const page = await then.load.flags((await then.flags('ns')).slice(5, 8))
  t.strictSame(
    page.map((row) => row?.doc.key),
    ['f5', 'f6', 'f7'],
  )
  t.strictSame(
    told
      .counted()
      .streams.filter((stream) => stream.startsWith('flag-'))
      .sort(),
    ['flag-ns+f5', 'flag-ns+f6', 'flag-ns+f7'],
  )
  const peeked = async (at: number) => {
    const { then } = await listed(at)
    const items = await then.flags('ns')
    const found: (string | undefined)[] = []
    told.counted()
    while (found.length < items.length) {
      const part = await then.peek.flags(items.slice(found.length))
      if (part.length === 0) break
      found.push(...part.map((row) => row?.doc.key))
    }
    const { streams } = told.counted()
    return { found, read: streams.filter((stream) => stream.startsWith('flag-')).toSorted() }
  }
  t.strictSame(await peeked(5), { found: [...without('f7', 'f8'), 'f7', 'late'], read: [] })
  const { found, read } = await peeked(1)
  t.strictSame(found, keys)
  t.strictSame(read, ['flag-ns+f7', 'flag-ns+f8'], 'what has changed since is read, and nothing else')
})

await t.test('a past list has the namespaces and segments that existed at the moment', async (t) => {
  const told = history()
  await told.append('namespace-ns', [namespaceCreated], second(1))
  await told.append('segment-ns+s', [segmentCreated], second(2))
  await told.append(
    'namespace-ns',
    [{ type: 'NamespaceDeleted', data: { key: 'ns', incarnation: 'life-1', force: false } }],
    second(3),
  )
  await told.append(
    'namespace-ns',
    [{ ...namespaceCreated, data: { ...namespaceCreated.data, incarnation: 'life-2' } }],
    second(4),
  )
  await told.built()
  const at = async (n: number) => {
    const then = await told.asOf({ instant: second(n) })
    return [
      (await then.namespaces()).length,
      (await then.segments('ns')).length,
      (await then.load.namespaces(await then.namespaces())).length,
    ]
  }
  t.strictSame(
    [await at(0), await at(1), await at(2), await at(3), await at(4)],
    [
      [0, 0, 0],
      [1, 0, 1],
      [1, 1, 1],
      [0, 0, 0],
      [1, 0, 1],
    ],
  )
})

await t.test('an aborted read stops and is rejected with the reason', async (t) => {
  const told = await changed(300)
  told.views.rowsOf(stateView).clear()
  const stop = new AbortController()
  const then = await told.asOf({ position: told.all.at(-1)!.position }, stop.signal)
  told.counted()
  const refused = t.rejects(then.flag('ns', 'f'), { message: 'nobody waits' })
  stop.abort(new Error('nobody waits'))
  await refused
  t.ok(told.counted().most <= 33)
  await t.rejects(told.asOf({ instant: second(3) }, stop.signal), { message: 'nobody waits' })
})

await t.test('a read at a moment in the future is refused', async (t) => {
  const told = await changed(3)
  const [clock, ahead] = [virtualClock(second(1_000)), virtualClock(second(1_060))]
  const asked = (moment: Moment) =>
    told.asOf(moment, never, { clock: { now: clock.now, newest: ahead.now } }).then(
      () => 'come',
      (error: unknown) => isRefusal(error, 'invalid_at') && 'not come',
    )
  const inMs = (ms: number) => ({ instant: new Date(Date.parse(second(1_060)) + ms).toISOString() })
  t.strictSame([await asked(inMs(0)), await asked(inMs(1))], ['come', 'not come'])
  await clock.advance(60_001)
  t.strictSame([await asked(inMs(1)), await asked(inMs(2))], ['come', 'not come'])
  const last = told.all.at(-1)!.position
  t.strictSame([await asked({ position: last }), await asked({ position: last + 1n })], ['come', 'not come'])
})

await t.test('a read at the present time includes every event, even one ahead of the clock', async (t) => {
  const told = await changed(3)
  const [clock, ahead] = [virtualClock(second(1_000)), virtualClock(second(1_060))]
  await told.append('flag-ns+later', [{ type: 'Happened', data: {} }], second(1_060))
  await told.built()
  const position = async (ms: number, newest = ahead.now) => {
    const instant = new Date(clock.now().getTime() - ms).toISOString()
    return (await (await told.asOf({ instant }, never, { clock: { now: clock.now, newest } })).moment()).position
  }
  const [before, all] = told.all.slice(-2).map((event) => event.position)
  t.strictSame([await position(0), await position(5_000)], [all, all])
  t.equal(await position(5_001), before)
  t.equal(await position(0, clock.now), before, 'nothing is ahead')
})

await t.test('a read waits two seconds for outdated read models, then is refused with view_behind', async (t) => {
  const told = await changed(3)
  const waits: number[] = []
  let inTime = true
  const waiting = async (withinMs: number) => {
    waits.push(withinMs)
    return inTime
  }
  const then = () =>
    told.asOf({ position: told.all.at(-1)!.position }, never, {
      viewsReached: (_, __, withinMs) => waiting(withinMs),
      seen: (_, withinMs) => waiting(withinMs),
    })
  const page = { where: {}, status: undefined, now: second(9), limit: 10, count: 10 }
  t.equal((await (await then()).tokens(page)).total, 0)
  t.equal((await (await then()).namespaces()).length, 1)
  inTime = false
  const behind = { message: 'view is behind position 50' }
  const [tokens, namespaces] = [await then(), await then()]
  await t.rejects(tokens.tokens(page), behind)
  await t.rejects(namespaces.namespaces(), behind)
  t.strictSame([...new Set(waits)], [2_000])
})

await t.test('a token at a past moment has the grants that it had then', async (t) => {
  const told = history()
  const { namespace: _namespace, ...data } = tokenIssued.data
  const issued = { ...data, id: 't2', ...grantsIn('shop', 'blog'), policy: 1 }
  await told.append('token-t2', [{ type: 'TokenIssued.v2', data: issued }], second(1))
  await told.append(
    'token-t2',
    [{ type: 'TokenGrantsNarrowed', data: { id: 't2', to: grantsIn('shop'), policy: 2 } }],
    second(2),
  )
  await told.built()
  const then = async (n: number) => {
    const { token } = await told.asOf({ instant: second(n) })
    const { grants, roles, policy, access, updatedAt } = (await token('t2'))!.doc
    return { grants, roles, policy, access, updatedAt }
  }
  t.same(await then(1), { ...grantsIn('shop', 'blog'), policy: 1, access: 'GRANTED', updatedAt: second(1) })
  t.same(await then(2), { ...grantsIn('shop'), policy: 2, access: 'GRANTED', updatedAt: second(2) })
})
