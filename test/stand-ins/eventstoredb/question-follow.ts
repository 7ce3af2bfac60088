import {
  eventTypeFilter,
  type Filter,
  jsonEvent,
  type Position,
  type SubscribeToAllOptions,
  streamNameFilter,
} from '@eventstore/db-client'
import { client, collect, events, named, RUN, shape, type Tell, unary, until, watch } from './question.ts'

/** Length of the log at the recording, because the number of checkpoints depends on it. */
const RECORDED = 638

/** Recorded requests of `5 subscriptions`. */
export const subscriptions = async (url: string, tell: Tell): Promise<void> => {
  const store = client(url)
  const kind = `t${RUN}`
  const make = (count: number, type = kind) => events(count, (i) => jsonEvent({ type, data: { i } }))
  const put = (stream: string, count: number, type = kind) => store.appendToStream(stream, make(count, type), unary)
  const [a, b] = [named('subA'), named('subB')]
  const before = await put(a, 5)
  await put(b, 5, `${kind}-b`)
  const now = () => collect(store.readAll())
  await put(named('filler'), RECORDED - 5 - (await now()).length, 'filler')
  await put(a, 5)
  const all = await now()
  const index = new Map(all.map(({ event }, n) => [event!.id, n]))

  {
    const subscription = store.subscribeToAll()
    const heard = watch(subscription)
    await until(() => heard.log.includes('caughtUp'))
    const ids = heard.events.map(({ event }) => event!.id)
    tell('subscribeToAll from START, no filter', {
      sameOrderAsReadAll: ids.join() === all.map(({ event }) => event!.id).join(),
      systemEventsIncluded: heard.events.some(({ event }) => event!.streamId.startsWith('$')),
      log: [...heard.log],
      idType: typeof (subscription as unknown as { id: unknown }).id,
      caughtUp: heard.log.includes('caughtUp'),
      caughtUpAfterAllEvents: heard.caughtUpAfter === all.length,
    })
    await subscription.unsubscribe()
    await until(() => heard.log.includes('close'))
    tell('unsubscribe()', { log: heard.log.slice(-3), destroyed: subscription.destroyed })
  }
  const k = all.findIndex(({ event }) => event!.streamId === b)
  const here = all[k]!.event!.position
  const first = async (what: string, options: SubscribeToAllOptions) => {
    const subscription = store.subscribeToAll(options)
    const heard = watch(subscription)
    await until(() => heard.events.length > 0 || heard.error !== undefined)
    const got = heard.events[0]
    tell(
      what,
      heard.error
        ? { error: shape(heard.error), log: [...heard.log] }
        : got
          ? { firstOffset: index.get(got.event!.id)! - k }
          : 'nothing',
    )
    await subscription.unsubscribe().catch(() => undefined)
  }
  const off = (by: bigint) => ({ commit: here.commit + by, prepare: here.prepare + by })
  await first("subscribeToAll from an event's exact position", { fromPosition: here })
  await first("subscribeToAll from an append's returned position", { fromPosition: before.position! })
  await first('subscribeToAll from between two events (P+1)', { fromPosition: off(1n) })
  await first('subscribeToAll from P-1', { fromPosition: off(-1n) })
  await first('subscribeToAll, prepare > commit', { fromPosition: { commit: here.commit, prepare: here.commit + 10n } })
  await first("filtered subscribeToAll from an event's exact position", {
    fromPosition: here,
    filter: eventTypeFilter({ prefixes: [kind] }),
  })

  type Check = (checkpointReached: (_: unknown, position: Position) => Promise<void>) => Filter
  type Seen = { readonly streamId: string; readonly type: string }
  const filtered = async (what: string, filter: Check, expected: (event: Seen) => boolean) => {
    const marks: Position[] = []
    const subscription = store.subscribeToAll({ filter: filter(async (_, position) => void marks.push(position)) })
    const heard = watch(subscription)
    await until(() => heard.error !== undefined || heard.log.includes('caughtUp'))
    const wanted = all.filter(({ event }) => expected(event!)).length
    const answer = {
      events: heard.events.length,
      allMatch: heard.events.every(({ event }) => expected(event!)),
      missed: wanted > heard.events.length,
      checkpoints: marks.length,
      log: [...heard.log],
    }
    if (what !== '') tell(what, heard.error ? { error: shape(heard.error), log: [...heard.log] } : answer)
    await subscription.unsubscribe().catch(() => undefined)
    return marks
  }
  await filtered(
    'eventTypeFilter prefix',
    (checkpointReached) => eventTypeFilter({ prefixes: [`${kind}-b`], checkpointReached }),
    ({ type }) => type.startsWith(`${kind}-b`),
  )
  await filtered(
    'eventTypeFilter regex',
    (checkpointReached) => eventTypeFilter({ regex: `^${kind}-b$`, checkpointReached }),
    ({ type }) => type === `${kind}-b`,
  )
  await filtered(
    'streamNameFilter regex',
    (checkpointReached) => streamNameFilter({ regex: 'subB$', checkpointReached }),
    ({ streamId }) => streamId.endsWith('subB'),
  )
  const shouted = a.toUpperCase()
  await filtered(
    'streamNameFilter case sensitivity',
    (checkpointReached) => streamNameFilter({ prefixes: [shouted], checkpointReached }),
    ({ streamId }) => streamId.startsWith(shouted),
  )
  await filtered(
    'invalid regex',
    (checkpointReached) => eventTypeFilter({ regex: '([', checkpointReached }),
    () => true,
  )
  await filtered(
    'empty prefix list',
    (checkpointReached) => eventTypeFilter({ prefixes: [], checkpointReached }),
    () => true,
  )
  await filtered(
    "prefix ''",
    (checkpointReached) => eventTypeFilter({ prefixes: [''], checkpointReached }),
    () => true,
  )

  const places = new Map(all.map(({ event }, n) => [event!.position.commit, n]))
  for (const [what, options] of [
    ['maxSearchWindow 10, interval 1, matches nothing', { maxSearchWindow: 10, checkpointInterval: 1 }],
    ['maxSearchWindow 10, interval 5, matches nothing', { maxSearchWindow: 10, checkpointInterval: 5 }],
    ['default window, interval 1, matches nothing', {}],
  ] as const) {
    const marks = await filtered(
      `checkpoints: ${what}`,
      (checkpointReached) => eventTypeFilter({ prefixes: ['zz-none'], ...options, checkpointReached }),
      () => false,
    )
    const at = marks.map(({ commit }) => (commit === 0n ? -1 : (places.get(commit) ?? -1)))
    tell(`checkpoint positions: ${what}`, {
      total: all.length,
      count: at.length,
      steps: [...new Set(at.slice(1).map((place, n) => place - at[n]!))].slice(0, 8),
      first: at.slice(0, 3),
      last: at.slice(-2),
      commitEqualsPrepare: marks.every(({ commit, prepare }) => commit === prepare),
      prepareIsZero: marks.filter(({ prepare }) => prepare === 0n).length,
      firstIs00: marks[0]?.commit === 0n && marks[0].prepare === 0n,
    })
  }

  const live = async (prefix: string) => {
    const marks: { readonly position: Position; readonly after: number }[] = []
    const checkpointReached = async (_: unknown, position: Position) =>
      void marks.push({ position, after: heard.events.length })
    const subscription = store.subscribeToAll({
      fromPosition: 'end',
      filter: eventTypeFilter({ prefixes: [prefix], maxSearchWindow: 10, checkpointReached }),
    })
    const heard = watch(subscription)
    await until(() => heard.log.includes('caughtUp'))
    const written: bigint[] = []
    for (let n = 0; n < 45; n++) written.push((await put(a, 1)).position!.commit)
    /** Returns the checkpoints up to a position. An event that passes the filter follows all of them. */
    const upTo = async (last: bigint) => {
      const heardSoFar = heard.events.length
      await put(a, 1, prefix)
      await until(() => heard.events.length > heardSoFar)
      return marks.filter(({ position: { commit } }) => commit <= last)
    }
    return { upTo, heard, subscription, written }
  }
  const unmatched = await live('zz-none')
  const single = unmatched.written.at(-1)!
  const batch = (await put(a, 45)).position!.commit
  const of90 = await unmatched.upTo(batch)
  const singly = of90.filter(({ position: { commit } }) => commit <= single)
  tell('live checkpoints while 45 non-matching events are appended one by one', {
    atStart: 0,
    live: singly.length,
    whichAppend: singly.map(({ position }) => unmatched.written.indexOf(position.commit)),
    commitEqualsPrepare: singly.every(({ position }) => position.commit === position.prepare),
  })
  tell('live checkpoints, 45 events in one append', { more: of90.length - singly.length })
  await unmatched.subscription.unsubscribe()
  const matched = await live(kind)
  const marked = await matched.upTo(matched.written.at(-1)!)
  tell('live checkpoints while 45 MATCHING events are appended', {
    events: matched.heard.events.length - 1,
    live: marked.length,
    afterEvents: marked.map(({ after }) => after),
    checkpointIsOfEvent: marked.map(({ position }) => matched.written.indexOf(position.commit)),
  })
  await matched.subscription.unsubscribe()

  const marks = await filtered(
    '',
    (checkpointReached) => eventTypeFilter({ prefixes: ['zz-none'], maxSearchWindow: 7, checkpointReached }),
    () => false,
  )
  const mark = marks[4]!
  const resumed = store.subscribeToAll({ fromPosition: mark })
  const after = watch(resumed)
  await until(() => after.events.length > 0 || after.error !== undefined)
  const place = places.get(mark.commit)!
  const resumedOffset = index.get(after.events[0]!.event!.id)! - place
  tell("resume from a checkpoint's position", {
    checkpointPrepareIsZero: mark.prepare === 0n,
    errorOnResume: after.error ? shape(after.error) : null,
    checkpointAtEventIndex: place,
    resumedOffset,
  })
  await resumed.unsubscribe()

  const ofStream = async (what: string, options: { readonly fromRevision?: bigint | 'end' }, stream = b) => {
    const subscription = store.subscribeToStream(stream, options)
    const heard = watch(subscription)
    await until(() => heard.error !== undefined || heard.log.includes('caughtUp'))
    const revisions = heard.events.map(({ event }) => String(event!.revision)).join()
    tell(what, heard.error ? { error: shape(heard.error), log: [...heard.log] } : { revisions, log: [...heard.log] })
    await subscription.unsubscribe().catch(() => undefined)
  }
  await ofStream('subscribeToStream from START', {})
  await ofStream('subscribeToStream from 2n (exclusive?)', { fromRevision: 2n })
  await ofStream('subscribeToStream from END', { fromRevision: 'end' })
  await ofStream('subscribeToStream from 4n (last)', { fromRevision: 4n })
  await ofStream('subscribeToStream from 99n', { fromRevision: 99n })
  {
    const stream = named('subnew')
    const subscription = store.subscribeToStream(stream)
    const heard = watch(subscription)
    await until(() => heard.log.includes('confirmation'))
    await put(stream, 2)
    await until(() => heard.events.length >= 2 && heard.log.includes('caughtUp'))
    tell('subscribeToStream on a missing stream, then append', { got: heard.events.length, log: [...heard.log] })
    await store.deleteStream(stream)
    await put(stream, 1)
    // Wait, because the event of the deletion would precede the next one.
    await until(() => heard.events.length >= 3)
    tell('…then soft delete', { log: [...heard.log], error: heard.error ? shape(heard.error) : null })
    tell('…then re-append', { revisions: heard.events.map(({ event }) => String(event!.revision)).join() })
    await store.tombstoneStream(stream)
    await until(() => heard.error !== undefined)
    const shown = heard.events
      .map(({ event }) => `${event!.revision} ${event!.type === kind ? 'T' : event!.type}`)
      .join()
    tell('…then tombstone', { revisions: shown, log: [...heard.log], error: heard.error ? shape(heard.error) : null })
    await subscription.unsubscribe().catch(() => undefined)
    await ofStream('subscribeToStream of a tombstoned stream', {}, stream)
  }
  await store.dispose()
}
