import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReplayDifference, ReplayedPages, ReplayServices } from '../../cli/history/replay/replay-services.ts'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/load.ts'
import { canonical } from '../../events/json/canonical.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { projections } from '../../projections/all.ts'
import { rebuild } from '../../projections/engine/rebuild.ts'
import type { AnyProjection } from '../../projections/projection.ts'
import type { Row, Views } from '../../projections/views.ts'
import { appendRecords } from '../migrate/append-records.ts'
import { eventsOf, openStores } from '../stores/stores.ts'

type ReadViews = Pick<Views, 'scan' | 'getMany' | 'checkpoint'>

/** Files of a data directory that hold keys or belong to a process. A replayed directory has none of them. */
const OWN_FILES = [
  'keys',
  'lock',
  'lock.pid',
  ...['', '-wal', '-shm', '-journal'].map((end) => `subjects.sqlite${end}`),
]

/** Position of the last record in a log whose length is not known. */
const LAST = BigInt(Number.MAX_SAFE_INTEGER)

const never = async (): Promise<never> => fail('failed', 'Records that are replayed cannot be written.')
const nothing = async function* () {}

/** Log of records that are read once, in their order. */
const logOf = (pages: ReplayedPages): EventLog => ({
  append: never,
  read: nothing,
  readAll: () => pages,
  follow: nothing,
  at: async () => undefined,
  first: async () => undefined,
  head: async () => LAST,
  close: async () => undefined,
})

/** Gives records the positions of an embedded log: 1, 2, 3 … Throws the reason of the signal at an abort. */
async function* counted(
  pages: ReplayedPages,
  signal: AbortSignal,
  onPage: (events: number) => void,
): AsyncGenerator<readonly Stored[]> {
  let events = 0
  for await (const page of pages) {
    signal.throwIfAborted()
    yield page.map((record, n) => ({ ...record, position: BigInt(events + n + 1) }))
    onPage((events += page.length))
  }
  signal.throwIfAborted()
}

/** Text of a row that is equal for equal documents. A stored row may lack the revisions of events that change nothing. */
const textOf = ({ changes, doc, unreadable }: Row): string =>
  canonical({ changes: String(changes), ...(doc && { doc }), ...(unreadable && { unreadable: unreadable.revision }) })

/** Keys whose rows of the first store differ in the second, with the difference. */
async function* differing(model: AnyProjection, one: ReadViews, other: ReadViews, isOfBoth: boolean) {
  for await (const page of one.scan(model)) {
    const there = new Map(
      (
        await other.getMany(
          model,
          page.map(({ key }) => key),
        )
      ).map((row) => [row.key, row]),
    )
    for (const row of page) {
      const found = there.get(row.key)
      if (!found) yield { key: row.key, isMissing: true }
      else if (isOfBoth && textOf(found) !== textOf(row)) yield { key: row.key, isMissing: false }
    }
  }
}

/** The difference with the least key of a read model in two stores; undefined if they are equal. */
const differenceOf = async (
  model: AnyProjection,
  replayed: ReadViews,
  other: ReadViews,
): Promise<ReplayDifference | undefined> => {
  const { name } = model
  if (!(await other.checkpoint(model))) return { model: name, difference: 'this version of it is missing there' }
  let first: { readonly key: string; readonly difference: string } | undefined
  const note = (key: string, difference: string): void => {
    if (first === undefined || key < first.key) first = { key, difference }
  }
  for await (const { key, isMissing } of differing(model, replayed, other, true))
    note(key, isMissing ? 'only in the replay' : 'another document')
  for await (const { key } of differing(model, other, replayed, false)) note(key, 'not in the replay')
  return first && { model: name, ...first }
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

/** Compares with the files of a data directory, read only and without its keys. */
const compared = async (config: Config, clock: Clock, models: readonly AnyProjection[], replayed: ReadViews) => {
  const paths = { events: eventsOf(config), views: join(config.storage.data_dir, 'views.sqlite') }
  for (const path of Object.values(paths))
    if (!existsSync(path))
      fail('notFound', `There is no ${path}.`, 'Set --compare to a data directory in which a service has already run.')
  const { openReadOnly } = await import('../../adapters/embedded/read-only.ts')
  const { views, close } = await openReadOnly(paths, clock, (file, { message }) =>
    fail('failed', `${file} is damaged: ${message}.`),
  )
  try {
    for (const model of models) {
      const difference = await differenceOf(model, replayed, views)
      if (difference) return difference
    }
    return undefined
  } finally {
    close()
  }
}

/** Folds records into the read models of a new data directory, and appends them to its log if they are to be kept. */
export const replayRecords: ReplayServices['replayRecords'] = async (target, clock, replay) => {
  const { pages, total, isKept, compare, progress, signal } = replay
  const models = chosen(replay.names)
  const stores = await openStores(target, clock, {}, { keepsTimes: true })
  let events = 0
  try {
    const { log, views } = stores
    const all = counted(pages, signal, (done) => {
      events = done
      progress({ name: 'replay', done, total: Math.max(done, total ?? done) })
    })
    if (isKept) for await (const page of all) await appendRecords(log, page)
    await rebuild({ clock, log: isKept ? log : logOf(all), views }, models)
    const found: { readonly name: string; readonly version: number; readonly rows: number }[] = []
    for (const model of models) {
      const { name, version } = model
      found.push({ name, version, rows: (await views.checkpoint(model))?.rows ?? 0 })
    }
    const difference = compare && (await compared(compare, clock, models, views))
    return { events, models: found, ...(difference && { difference }) }
  } finally {
    await stores.close()
    for (const name of OWN_FILES) await rm(join(target.storage.data_dir, name), { force: true })
  }
}
