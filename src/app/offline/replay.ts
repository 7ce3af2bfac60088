import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { OnProgress } from '../../base/progress.ts'
import type { Config } from '../../config/load.ts'
import type { Stored } from '../../events/log.ts'
import { projections } from '../../projections/all.ts'
import { type RebuildSources, rebuild } from '../../projections/engine/rebuild.ts'
import type { AnyProjection } from '../../projections/projection.ts'
import { rowHash } from '../../projections/projection.ts'
import type { Views } from '../../projections/views.ts'
import { appendRecords } from '../migrate/records.ts'
import { eventsOf, existing, openStores } from '../stores/stores.ts'

/** Records to replay in the order of their log from index 0 on, in pages of at most 1,000. */
export type ReplayedPages = AsyncIterable<readonly Stored[]>

/** A row of a read model that is compared. `position`: that of its last event, if the source numbers events the same way. */
export type ComparedRow = { readonly key: string; readonly sha256: string; readonly position?: bigint }

/** Read models to compare with those of a replay. */
export type ComparedModels = {
  /** All rows of a read model in pages; undefined if its version is another one or missing. */
  readonly rows: (name: string, version: number) => Promise<AsyncIterable<readonly ComparedRow[]> | undefined>
}

type Replay = {
  readonly pages: ReplayedPages
  /** Number of records; undefined if it is not known before the end. */
  readonly total: number | undefined
  /** Read models to fold; none: all. */
  readonly names: readonly string[]
  /** True if the target also gets the records, without keys. */
  readonly isKept: boolean
  /** The stopped data directory or the running service whose read models are compared. */
  readonly compare: Config | ComparedModels | undefined
  readonly progress: OnProgress
  readonly signal: AbortSignal
}

/** A read model that was folded, with the number of its rows. */
export type ReplayedModel = { readonly name: string; readonly version: number; readonly rows: number }

/** Files of a data directory that hold keys or belong to a process. A replayed directory has none of them. */
const OWN_FILES = [
  'keys',
  'lock',
  'lock.pid',
  ...['', '-wal', '-shm', '-journal'].map((end) => `subjects.sqlite${end}`),
]

/** Position of the last record in a log whose length is not known. */
const LAST = BigInt(Number.MAX_SAFE_INTEGER)

/** Log of records that are read once, in their order. */
const logOf = (pages: ReplayedPages): RebuildSources['log'] => ({
  read: async function* () {},
  readAll: () => pages,
  at: async () => undefined,
  first: async () => undefined,
  head: async () => LAST,
})

/**
 * Gives records the positions of an embedded log: 1, 2, 3 …, unless they keep their own. Throws the reason of the
 * signal at an abort. `onPage` gets the number of records so far, and the position of the last one in its own log.
 */
async function* counted(
  pages: ReplayedPages,
  isOwn: boolean,
  signal: AbortSignal,
  onPage: (events: number, position: bigint) => void,
): AsyncGenerator<readonly Stored[]> {
  let events = 0
  for await (const page of pages) {
    signal.throwIfAborted()
    yield isOwn ? page : page.map((record, n) => ({ ...record, position: BigInt(events + n + 1) }))
    onPage((events += page.length), page.at(-1)?.position ?? 0n)
  }
  signal.throwIfAborted()
}

async function* hashed(views: Pick<Views, 'scan'>, model: AnyProjection): AsyncGenerator<readonly ComparedRow[]> {
  for await (const page of views.scan(model)) yield page.map((row) => ({ key: row.key, sha256: rowHash(row) }))
}

/**
 * Compares the rows of a read model with those of a replay, which ends at the position `last`: the difference with the
 * least key, and the number of rows that later events changed.
 */
const compareRows = async (
  model: AnyProjection,
  replayed: Views,
  rows: AsyncIterable<readonly ComparedRow[]>,
  last: bigint,
) => {
  let first: { readonly key: string; readonly difference: string } | undefined
  const note = (key: string, difference: string): void => {
    if (first === undefined || key < first.key) first = { key, difference }
  }
  const seen = new Set<string>()
  let later = 0
  for await (const page of rows) {
    const there = await replayed.getMany(
      model,
      page.map(({ key }) => key),
    )
    const hashes = new Map(there.map((row) => [row.key, rowHash(row)]))
    for (const { key, sha256, position = 0n } of page) {
      seen.add(key)
      if (position > last) later++
      else if (!hashes.has(key)) note(key, 'not in the replay')
      else if (hashes.get(key) !== sha256) note(key, 'another document')
    }
  }
  for await (const page of replayed.scan(model))
    for (const { key } of page) if (!seen.has(key)) note(key, 'only in the replay')
  return { difference: first, later }
}

const chosen = (names: readonly string[]): readonly AnyProjection[] => {
  const known: readonly AnyProjection[] = projections
  const unknown = names.filter((name) => !known.some((model) => model.name === name))
  if (unknown.length > 0)
    fail(
      'notFound',
      `There is no read model ${unknown.join(', ')}.`,
      `Known read models: ${known.map(({ name }) => name).join(', ')}`,
    )
  return known.filter(({ name }) => names.length === 0 || names.includes(name))
}

/** Runs work with the read models of a stopped data directory, read only and without its keys. */
const withModelsOf = async <T>(
  config: Config,
  clock: Clock,
  work: (models: ComparedModels) => Promise<T>,
): Promise<T> => {
  const paths = {
    events: existing(eventsOf(config), '--compare'),
    views: existing(join(config.storage.data_dir, 'views.sqlite'), '--compare'),
  }
  const { openReadOnly } = await import('../../adapters/embedded/read-only.ts')
  const { views, close } = await openReadOnly(paths, clock, (file, { message }) =>
    fail('failed', `${file} is damaged: ${message}.`),
  )
  try {
    return await work({
      rows: async (name) => {
        const model = projections.find((each: AnyProjection) => each.name === name)!
        return (await views.checkpoint(model)) && hashed(views, model)
      },
    })
  } finally {
    close()
  }
}

/** First difference of the read models, and the number of rows that later events changed. */
const compared = async (models: readonly AnyProjection[], replayed: Views, other: ComparedModels, last: bigint) => {
  let later = 0
  for (const model of models) {
    const { name, version } = model
    const rows = await other.rows(name, version)
    if (!rows) return { difference: { model: name, key: '', difference: 'this version of it is missing there' }, later }
    const found = await compareRows(model, replayed, rows, last)
    later += found.later
    if (found.difference) return { difference: { model: name, ...found.difference }, later }
  }
  return { difference: undefined, later }
}

/**
 * Folds records into the read models of a new data directory, and appends them to its log if they are to be kept.
 * Rejects with the reason of the signal at an abort. `later`: number of compared rows that events after the last replayed
 * one changed, and that are not compared further.
 */
export const replayRecords = async (target: Config, clock: Clock, replay: Replay) => {
  const { pages, total, isKept, compare, progress, signal } = replay
  const models = chosen(replay.names)
  const stores = await openStores(target, clock, {}, { keepsTimes: true })
  let [events, last] = [0, 0n]
  try {
    const { log, views } = stores
    // Documents contain positions, so they are compared with those of a service under the positions of its log.
    const isOwn = compare !== undefined && 'rows' in compare && !isKept
    const all = counted(pages, isOwn, signal, (done, position) => {
      ;[events, last] = [done, position]
      progress({ name: 'replay', done, total: Math.max(done, total ?? done) })
    })
    if (isKept) for await (const page of all) await appendRecords(log, page)
    await rebuild({ clock, log: isKept ? log : logOf(all), views }, models)
    const found: ReplayedModel[] = []
    for (const model of models)
      found.push({ name: model.name, version: model.version, rows: (await views.checkpoint(model))?.rows ?? 0 })
    const run = (other: ComparedModels) => compared(models, views, other, last)
    const { difference, later } = await (compare === undefined
      ? { difference: undefined, later: 0 }
      : 'rows' in compare
        ? run(compare)
        : withModelsOf(compare, clock, run))
    return { events, models: found, later, ...(difference && { difference }) }
  } finally {
    await stores.close()
    for (const name of OWN_FILES) await rm(join(target.storage.data_dir, name), { force: true })
  }
}

export type Replayed = Awaited<ReturnType<typeof replayRecords>>
