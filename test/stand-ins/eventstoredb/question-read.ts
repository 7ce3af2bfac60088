import {
  type AllStreamResolvedEvent,
  binaryEvent,
  jsonEvent,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
} from '@eventstore/db-client'
import {
  attempt,
  client,
  collect,
  events,
  named,
  normal,
  type Outcome,
  plain,
  shape,
  showAppend,
  type Tell,
  unary,
} from './question.ts'

type Item = { readonly event?: { readonly revision: bigint } }
const showRead = (outcome: Outcome<readonly Item[]>): object =>
  outcome.error
    ? { error: shape(outcome.error) }
    : { revisions: outcome.ok.map(({ event }) => String(event?.revision)).join(','), count: outcome.ok.length }

/** Result of a read that is never answered. */
const PENDING = 'unanswered when a later read is answered'

/** Recorded requests of `3 reads`. */
export const reads = async (url: string, tell: Tell): Promise<void> => {
  const store = client(url)
  const ten = named('read10')
  const written = await store.appendToStream(
    ten,
    events(10, (i) => jsonEvent({ type: 'read-type', data: { i }, metadata: { m: i } })),
    { ...unary, expectedRevision: 'no_stream' },
  )
  const asked = async (what: string, options: ReadStreamOptions, stream = ten) =>
    tell(what, showRead(await attempt(() => collect(store.readStream(stream, options)))))
  const backwards = { direction: 'backwards' } as const
  await asked('stream forwards from START', {})
  await asked('stream backwards from END', { ...backwards, fromRevision: 'end' })
  await asked('stream forwards from 5n', { fromRevision: 5n })
  await asked('stream backwards from 5n', { ...backwards, fromRevision: 5n })
  await asked('stream forwards from 10n (one past the end)', { fromRevision: 10n })
  await asked('stream forwards from 100n', { fromRevision: 100n })
  await asked('stream backwards from 100n', { ...backwards, fromRevision: 100n })
  await asked('stream forwards from END', { fromRevision: 'end' })
  await asked('stream backwards from START', { ...backwards, fromRevision: 'start' })
  await asked('stream backwards, no fromRevision (default START)', backwards)
  await asked('stream maxCount 0', { maxCount: 0 })
  await asked('stream maxCount 1', { maxCount: 1 })
  await asked('stream maxCount 3 from 8n', { maxCount: 3, fromRevision: 8n })
  await asked('stream maxCount 3 backwards from END', { maxCount: 3, ...backwards, fromRevision: 'end' })
  const nope = named('nope')
  await asked('missing stream', {}, nope)
  await asked('missing stream, maxCount 0', { maxCount: 0 }, nope)
  await asked('missing stream, backwards from END', { ...backwards, fromRevision: 'end' }, nope)
  await asked('missing stream, from 5n', { fromRevision: 5n }, nope)
  const soft = named('soft')
  await store.appendToStream(soft, events(4), unary)
  const deleted = await store.deleteStream(soft)
  await asked('soft-deleted stream', {}, soft)
  await asked('soft-deleted stream, from 2n', { fromRevision: 2n }, soft)
  await asked('soft-deleted stream, backwards END', { ...backwards, fromRevision: 'end' }, soft)
  tell(
    're-append after soft delete',
    showAppend(await attempt(() => store.appendToStream(soft, events(2), { ...unary, expectedRevision: 'no_stream' }))),
  )
  await asked('re-appended stream from START', {}, soft)
  await asked('re-appended stream from 0n', { fromRevision: 0n }, soft)
  const tomb = named('tomb')
  await store.appendToStream(tomb, events(2), unary)
  const buried = await store.tombstoneStream(tomb)
  await asked('tombstoned stream', {}, tomb)
  await asked('tombstoned stream, backwards END', { ...backwards, fromRevision: 'end' }, tomb)

  const all = await collect(store.readAll({ fromPosition: written.position! }))
  const of = (stream: string) => all.flatMap(({ event }) => (event?.streamId === stream ? [event] : []))
  tell('$all after soft delete, re-append and tombstone', {
    soft: of(soft).map(({ type, revision }) => `${type}@${revision}`),
    softMeta: of(`$$${soft}`).map(({ type, revision, data, isJson }) => plain({ type, revision, data, isJson })),
    tomb: of(tomb).map(({ type, revision, isJson, data }) => plain({ type, revision, isJson, data })),
  })
  const standing = ({ position }: { position?: Position }) =>
    all
      .filter(({ event }) => event?.position.commit === position?.commit)
      .map(({ event }) => `${normal(event!.streamId)} ${event!.type}`)
  tell('delete/tombstone result position vs $all', {
    deletePositionIsAnEventInAll: standing(deleted).length > 0,
    atThatPosition: standing(deleted),
    tombAt: standing(buried),
  })
  const whole = await collect(store.readAll())
  const first = whole.findIndex(({ event }) => event?.streamId === ten)
  const [here, next] = [whole[first]!.event!.position, whole[first + 1]!.event!.position]
  const near = async (what: string, options: ReadAllOptions) => {
    const read = await attempt(() => collect(store.readAll({ maxCount: 1, ...options })))
    const found = read.error ? undefined : read.ok[0]
    const index = whole.findIndex(({ event }) => event!.id === found?.event?.id) - first
    tell(what, read.error ? { error: shape(read.error) } : found ? { index } : 'nothing')
  }
  const between = { commit: here.commit + 1n, prepare: here.prepare + 1n }
  const far = { commit: 10n ** 15n, prepare: 10n ** 15n }
  await near("readAll forwards from an event's exact position", { fromPosition: here })
  await near("readAll backwards from an event's exact position", { ...backwards, fromPosition: here })
  await near('readAll forwards from between two events (commit+1, prepare+1)', { fromPosition: between })
  await near("readAll forwards from (next event's position - 1)", {
    fromPosition: { commit: next.commit - 1n, prepare: next.prepare - 1n },
  })
  await near('readAll backwards from between two events (commit+1, prepare+1)', { ...backwards, fromPosition: between })
  await near('readAll forwards, commit exact, prepare 0', { fromPosition: { commit: here.commit, prepare: 0n } })
  await near('readAll forwards, prepare > commit', { fromPosition: { commit: here.commit, prepare: here.commit + 5n } })
  await near('readAll forwards from far past the end', { fromPosition: far })
  await near('readAll backwards from far past the end', { ...backwards, fromPosition: far })
  await near('readAll forwards from END', { fromPosition: 'end' })
  await near('readAll backwards from START', { ...backwards, fromPosition: 'start' })
  const zero = await collect(store.readAll({ maxCount: 1, fromPosition: { commit: 0n, prepare: 0n } }))
  tell('readAll from position 0/0', { index0: zero[0]?.event?.id === whole[0]!.event!.id })
  tell('readAll maxCount 5', { n: (await collect(store.readAll({ maxCount: 5 }))).length })
  const nothing = store.readAll({ maxCount: 0 })
  const never = attempt(() => collect(nothing))
  const later = collect(store.readAll({ maxCount: 5 })).then(() => PENDING)
  tell('readAll maxCount 0', await Promise.race([never.then(showRead), later]))
  await nothing.cancel()

  const links = named('links')
  const link = (revision: number, stream: string) =>
    binaryEvent({ type: '$>', data: Buffer.from(`${revision}@${stream}`) })
  await store.appendToStream(links, [link(3, ten), link(4, ten), link(0, nope), link(1, tomb), link(1, soft)], {
    ...unary,
    expectedRevision: 'no_stream',
  })
  const name = (one: { streamId: string; revision: bigint; type: string } | undefined) =>
    one ? `${normal(one.streamId)}@${one.revision} ${one.type}` : '<none>'
  const showLink = (item: AllStreamResolvedEvent) => ({
    keys: Object.keys(item),
    event: name(item.event),
    link: name(item.link),
  })
  tell(
    'links, resolveLinkTos false',
    ((await collect(store.readStream(links))) as AllStreamResolvedEvent[]).map(showLink),
  )
  tell(
    'links, resolveLinkTos true',
    ((await collect(store.readStream(links, { resolveLinkTos: true }))) as AllStreamResolvedEvent[]).map(showLink),
  )
  await store.dispose()
}

/** Recorded requests of `4 positions`. */
export const positions = async (url: string, tell: Tell): Promise<void> => {
  const store = client(url)
  const stream = named('pos')
  const put = (count: number) => store.appendToStream(stream, events(count), unary)
  const [one, three, two, none] = [await put(1), await put(3), await put(2), await put(0)]
  const all = await collect(store.readAll())
  const mine = all.flatMap(({ event }) => (event?.streamId === stream ? [event.position.commit] : []))
  const commits = all.map(({ event }) => event!.position.commit)
  tell('strictly increasing in $all', {
    strictly: commits.every((commit, n) => n === 0 || commit > commits[n - 1]!),
    distinctCommit: new Set(commits).size === all.length,
  })
  tell('gaps between neighbours (bytes)', {
    contiguousByOne: commits.some((commit, n) => n > 0 && commit === 1n + commits[n - 1]!),
  })
  const index = (position: Position | undefined) => mine.findIndex((commit) => commit === position?.commit)
  tell("append's returned position = which event of the append (index in the stream)", {
    single: index(one.position),
    threeBatch: index(three.position),
    twoUnary: index(two.position),
    note: 'index of the event whose commit position equals the returned commit',
  })
  tell(
    'empty append to an existing stream: position',
    plain({ nextExpectedRevision: none.nextExpectedRevision, isAnEventOfAll: commits.includes(none.position!.commit) }),
  )
  tell('resolved.commitPosition equals event.position.commit in $all', {
    all: all.every(({ event, commitPosition }) => commitPosition === event!.position.commit),
  })
  const seen = (await collect(store.readStream(stream))).map(({ event, commitPosition }) =>
    commitPosition === event!.position!.commit ? '= event.position.commit' : String(commitPosition),
  )
  tell('item.commitPosition when reading a stream', { values: [...new Set(seen)] })
  await store.dispose()
}
