import { randomUUID } from 'node:crypto'
import { type AppendExpectedRevision, binaryEvent, type EventData, jsonEvent } from '@eventstore/db-client'
import {
  attempt,
  client,
  collect,
  event,
  events,
  named,
  revisions,
  shape,
  show,
  showAppend,
  type Tell,
  unary,
} from './question.ts'

/** Recorded requests of `1 append`, with the unary call. */
export const append = async (url: string, tell: Tell): Promise<void> => {
  const store = client(url)
  const s = (name: string) => named(`unary-${name}`)
  const put = (name: string, given: EventData[], expectedRevision?: AppendExpectedRevision, from = store) =>
    attempt(() =>
      from.appendToStream(s(name), given, { ...unary, ...(expectedRevision !== undefined && { expectedRevision }) }),
    )
  const told = async (what: string, ...[name, given, expected]: Parameters<typeof put>) =>
    tell(`unary: ${what}`, showAppend(await put(name, given, expected)))
  const withRevisions = async (what: string, ...[name, given, expected]: Parameters<typeof put>) =>
    tell(`unary: ${what}`, {
      ...showAppend(await put(name, given, expected)),
      revisions: await revisions(store, s(name)),
    })

  await told('NO_STREAM, new stream, 1 event', 'a', events(1), 'no_stream')
  await told('NO_STREAM, stream exists (other id)', 'a', events(1), 'no_stream')
  await told('NO_STREAM, new stream, 3 events', 'b', events(3), 'no_stream')
  await told('revision right (2n on 3 events), 2 events', 'b', events(2), 2n)
  await told('revision too low (1n on 5 events)', 'b', events(1), 1n)
  await told('revision too high (9n on 5 events)', 'b', events(1), 9n)
  await told('revision 0n on missing stream', 'missing0', events(1), 0n)
  await told('revision 5n on missing stream', 'missing5', events(1), 5n)
  await told('STREAM_EXISTS on missing', 'missing-se', events(1), 'stream_exists')
  await told('STREAM_EXISTS on existing (5 events)', 'b', events(1), 'stream_exists')
  await told('ANY on new', 'any', events(1), 'any')
  await told('ANY on existing', 'any', events(2), 'any')
  await told('no expectedRevision given', 'any', events(1))
  const nothing = [
    ['empty list, NO_STREAM, new stream', 'no_stream'],
    ['empty list, ANY, new stream', 'any'],
    ['empty list, STREAM_EXISTS, missing stream', 'stream_exists'],
    ['empty list, revision 3n, missing stream', 3n],
  ] as const
  for (const [what, expected] of nothing) await told(what, `empty-${what.length}`, [], expected)
  tell(
    'unary: stream after empty append',
    show(await attempt(() => collect(store.readStream(s(`empty-${nothing[1][0].length}`))))),
  )
  await put('e2', events(3), 'no_stream')
  await told('empty list, ANY, 3-event stream', 'e2', [], 'any')
  await told('empty list, right revision 2n', 'e2', [], 2n)
  await told('empty list, wrong revision 0n', 'e2', [], 0n)
  await told('empty list, NO_STREAM, existing', 'e2', [], 'no_stream')
  const twice = randomUUID()
  await withRevisions('one call holds the same event id twice', 'dup', [event(twice), event(twice)], 'no_stream')
  await told('invalid event id', 'badid', [event('not-a-uuid')])
  const quiet = client(url, '&throwOnAppendFailure=false')
  tell(
    'unary: throwOnAppendFailure=false, NO_STREAM on 5+1-event stream',
    showAppend(await put('b', events(1), 'no_stream', quiet)),
  )
  tell(
    'unary: throwOnAppendFailure=false, STREAM_EXISTS on missing',
    showAppend(await put('missing-x', events(1), 'stream_exists', quiet)),
  )
  tell('unary: throwOnAppendFailure=false, success', showAppend(await put('b', events(1), 5n, quiet)))
  await quiet.dispose()

  const softDeleted = async (name: string) => {
    await put(name, events(3), 'no_stream')
    await store.deleteStream(s(name), unary)
  }
  await softDeleted('sd')
  await told('soft-deleted (was 3 events), revision 0n', 'sd', events(1), 0n)
  await told('soft-deleted, STREAM_EXISTS', 'sd', events(1), 'stream_exists')
  tell('unary: soft-deleted then: revisions readable now', { revisions: await revisions(store, s('sd')) })
  await softDeleted('sd3')
  await withRevisions('soft-deleted (was 3 events), NO_STREAM, 2 events', 'sd3', events(2), 'no_stream')
  await softDeleted('sd4')
  await withRevisions('soft-deleted (was 3 events), right old revision 2n', 'sd4', events(1), 2n)
  await softDeleted('sd5')
  await withRevisions('soft-deleted (was 3 events), ANY', 'sd5', events(1), 'any')
  await put('ts', events(3), 'no_stream')
  const buried = await attempt(() => store.tombstoneStream(s('ts'), unary))
  tell(
    'unary: tombstone result',
    buried.error ? show(buried) : { keys: Object.keys(buried.ok), position: Boolean(buried.ok.position) },
  )
  const each = [
    ['ANY', 'any'],
    ['NO_STREAM', 'no_stream'],
    ['2n', 2n],
    ['STREAM_EXISTS', 'stream_exists'],
  ] as const
  for (const [what, expected] of each) await told(`append to tombstoned, ${what}`, 'ts', events(1), expected)
  await put('del', events(3))
  tell(
    'unary: deleteStream wrong revision',
    show(await attempt(() => store.deleteStream(s('del'), { ...unary, expectedRevision: 7n }))),
  )
  tell('unary: deleteStream missing stream', show(await attempt(() => store.deleteStream(s('never'), unary))))
  await store.deleteStream(s('del'), unary)
  const again = await attempt(() => store.deleteStream(s('del'), unary))
  tell(
    'unary: deleteStream of a deleted stream again',
    again.error ? show(again) : { keys: Object.keys(again.ok), position: Boolean(again.ok.position) },
  )
  tell('unary: tombstone again / soft delete of tombstoned', {
    tombstone: show(await attempt(() => store.tombstoneStream(s('ts'), unary))),
    del: show(await attempt(() => store.deleteStream(s('ts'), unary))),
  })
  await store.dispose()
}

/** Recorded requests of `2 idempotence`, with the unary call: the stream contains a, b, c. */
export const idempotence = async (url: string, tell: Tell): Promise<void> => {
  const store = client(url)
  const s = (name: string) => named(`idem-unary-${name}`)
  const letters = new Map<string, string>()
  const ids: Record<string, string> = {}
  const made = (letter: string, other = false): EventData =>
    other ? event(ids[letter], 'other', { z: 9 }) : event(ids[letter])
  const put = (name: string, given: string, expectedRevision: AppendExpectedRevision, other = false) =>
    attempt(() =>
      store.appendToStream(
        s(name),
        [...given].map((letter) => made(letter, other)),
        { ...unary, expectedRevision },
      ),
    )
  const now = async (name: string): Promise<unknown> => {
    const read = await attempt(() => collect(store.readStream(s(name))))
    return read.error
      ? { error: (read.error as { type?: unknown }).type }
      : read.ok.map((item) => letters.get(item.event!.id)).join(',')
  }
  let first: Awaited<ReturnType<typeof put>>
  const base = async (name: string) => {
    for (const letter of 'abcdxz') letters.set((ids[letter] = randomUUID()), letter)
    first = await put(name, 'abc', 'no_stream')
  }
  const told = async (what: string, name: string, given: string, expected: AppendExpectedRevision, other = false) => {
    const again = await put(name, given, expected, other)
    const [before, after] = [first.error ? undefined : first.ok.position, again.error ? undefined : again.ok.position]
    const samePositionAsFirst = before && after ? before.commit === after.commit : 'n/a'
    tell(`unary: ${what}`, { ...showAppend(again), samePositionAsFirst, streamNow: await now(name) })
  }
  await base('1')
  await told('same ids, NO_STREAM again', '1', 'abc', 'no_stream')
  await told('same ids, ANY', '1', 'abc', 'any')
  await told('same ids, STREAM_EXISTS', '1', 'abc', 'stream_exists')
  await told('same ids, other data and type, NO_STREAM', '1', 'abc', 'no_stream', true)
  await put('1', 'd', 2n)
  await told('same ids, NO_STREAM, after d was appended', '1', 'abc', 'no_stream')
  await told('same ids, ANY, after d was appended', '1', 'abc', 'any')
  await told('prefix [a,b], NO_STREAM', '1', 'ab', 'no_stream')
  await told('prefix [a,b], ANY', '1', 'ab', 'any')
  await told('middle [b,c], revision 0n', '1', 'bc', 0n)
  await told('single b, revision 0n', '1', 'b', 0n)
  await told('single b, ANY', '1', 'b', 'any')
  await told('b with the wrong revision 1n', '1', 'b', 1n)
  await told('reordered [b,a], NO_STREAM', '1', 'ba', 'no_stream')
  await told('superset [a,b,c,x], NO_STREAM (stream has a,b,c,d)', '1', 'abcx', 'no_stream')
  await told('overlap [a,x], NO_STREAM', '1', 'ax', 'no_stream')
  await told('overlap [x,a], NO_STREAM', '1', 'xa', 'no_stream')
  await told('overlap [a,x], ANY', '1', 'ax', 'any')
  await base('2')
  await told('superset [a,b,c,x], NO_STREAM (stream has a,b,c)', '2', 'abcx', 'no_stream')
  await told('superset [c,x], revision 1n (c is last)', '2', 'cx', 1n)
  await told('superset [c,x], ANY (c is last)', '2', 'cx', 'any')
  await base('3')
  await told('overlap [x,a], ANY (x new, a old)', '3', 'xa', 'any')
  await base('4')
  await told('c again with the CURRENT revision 2n', '4', 'c', 2n)
  await base('5')
  await told('same ids, other stream, NO_STREAM', '5b', 'abc', 'no_stream')
  await base('5c')
  await told('same ids, other stream, ANY', '5d', 'abc', 'any')
  for (const [name, what, expected] of [
    ['6', 'NO_STREAM', 'no_stream'],
    ['7', 'ANY', 'any'],
  ] as const) {
    await base(name)
    await store.deleteStream(s(name), unary)
    await told(`same ids after soft delete, ${what}`, name, 'abc', expected)
  }
  const both = await Promise.all([put('8', 'z', 'no_stream'), put('8', 'z', 'no_stream')])
  tell('unary: the same append twice at once, NO_STREAM', { both: both.map(showAppend), streamNow: await now('8') })
  await store.dispose()
}

const KIB = 1024
/** Recorded requests of `6 limits` and `6 shapes`, with the unary call. */
export const limits = async (url: string, tell: Tell): Promise<void> => {
  const store = client(url)
  const put = (name: string, given: EventData[], expectedRevision: AppendExpectedRevision = 'any') =>
    attempt(() => store.appendToStream(named(name), given, { ...unary, expectedRevision }))
  const big = (size: number) => [jsonEvent({ type: 'big', data: { d: 'x'.repeat(size) } })]
  for (const [name, size] of [
    ['64 KiB', 64 * KIB],
    ['900 KiB', 900 * KIB],
    ['2 MiB', 2 * KIB * KIB],
    ['5 MiB', 5 * KIB * KIB],
    ['20 MiB', 20 * KIB * KIB],
  ] as const)
    tell(`unary: one event of ${name}`, showAppend(await put(`lim-unary-${name}`, big(size), 'no_stream')))
  const bytes = async (size: number, type: string) =>
    !(await put(`lim-x-${randomUUID()}`, [binaryEvent({ type, data: Buffer.alloc(size) })])).error
  let [low, high] = [1_040_000, 1_060_000]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (await bytes(middle, 't')) low = middle
    else high = middle
  }
  tell('unary: largest binary event accepted', { bytes: low, maxAppendSize: 1_048_576, overhead: 1_048_576 - low })
  const long = 't'.repeat(101)
  tell('unary: largest binary event, type of 101 chars', {
    bytes: (await bytes(low, long)) && !(await bytes(low + 1, long)) ? low : 0,
    perTypeChar: 0,
  })
  const many = (count: number, size: number) =>
    events(count, () => jsonEvent({ type: 'many', data: { d: 'x'.repeat(size) } }))
  for (const [count, size] of [
    [5000, 10],
    [5000, 300],
  ] as const)
    tell(
      `unary: ${count} events with ${size}-char payloads in one append`,
      showAppend(await put(`many-unary-${count}-${size}`, many(count, size), 'no_stream')),
    )
  tell('unary: client still usable after the size errors', showAppend(await put('after-unary', events(1))))
  const neighbours = await Promise.all([
    put('nb-1', events(1)),
    put('nb-2', big(2 * KIB * KIB)),
    put('nb-3', events(1)),
  ])
  tell(
    'unary: neighbours of an oversized append (concurrent)',
    neighbours.map(({ error }) => (error ? (shape(error) as { type: unknown }).type : 'ok')),
  )
  const upper = 'ABCDEF01-2345-4678-9ABC-DEF012345678'
  await put('upper', [event(upper)])
  tell('upper-case event id', {
    backIsLowerCase: (await collect(store.readStream(named('upper'))))[0]?.event?.id === upper.toLowerCase(),
  })
  await store.dispose()
}
