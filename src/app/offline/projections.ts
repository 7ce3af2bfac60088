import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { OnProgress, Say } from '../../base/progress.ts'
import type { Config } from '../../config/load.ts'
import type { EventLog } from '../../events/log.ts'
import { wholeBlocks } from '../../projections/engine/background-projection.ts'
import { rebuild } from '../../projections/engine/rebuild.ts'
import type { Views } from '../../projections/views.ts'
import { readModelsOf } from '../stores/read-models.ts'
import { eventsOf, existing } from '../stores/stores.ts'
import { withSettled, withStores } from './opened-stores.ts'

/** Names and versions of the read models do not depend on the key. */
const ANY_KEY = new Uint8Array(32)

type Read = {
  readonly log: Pick<EventLog, 'head' | 'readAll'>
  readonly checkpoint: Views['checkpoint']
}

/** Progress of each read model. Positions are decimal texts; `lag` counts events. */
const statusOf = async ({ log, checkpoint }: Read) => {
  const head = await log.head()
  const status = []
  for (const model of readModelsOf(ANY_KEY)) {
    const { name, version } = model
    const { position, events } = (await checkpoint(model)) ?? { position: 0n, events: 0 }
    let all = events
    for await (const page of log.readAll(position, head)) all += page.length
    const due = wholeBlocks(all, 'block' in model ? (model.block ?? 1) : 1)
    status.push({ name, version, position: String(position), head: String(head), lag: Math.max(0, due - events) })
  }
  return status
}

export type ProjectionStatus = Awaited<ReturnType<typeof statusOf>>[number]

/** Reads the files of a data directory without changing them, also while a service uses them. */
const statusInDirectory = async (config: Config, clock: Clock): Promise<readonly ProjectionStatus[]> => {
  const events = existing(eventsOf(config))
  const views = join(config.storage.data_dir, 'views.sqlite')
  const { withEmbeddedLog } = await import('../../adapters/embedded/files/check.ts')
  if (!existsSync(views))
    return withEmbeddedLog(events, (log) => statusOf({ log, checkpoint: () => Promise.resolve(undefined) }))
  const { openReadOnly } = await import('../../adapters/embedded/read-only.ts')
  const store = await openReadOnly({ events, views }, clock, () => undefined)
  try {
    return await statusOf({ log: store.log, checkpoint: store.views.checkpoint })
  } finally {
    store.close()
  }
}

/** Returns the checkpoint of each read model, of a data directory read-only. */
export const projectionStatus = (config: Config, clock: Clock, say: Say): Promise<readonly ProjectionStatus[]> =>
  config.storage.type === 'embedded'
    ? statusInDirectory(config, clock)
    : withStores(config, clock, say, ({ log, views }) => statusOf({ log, checkpoint: views.checkpoint }))

type Rebuild = {
  readonly names: readonly string[]
  readonly progress: OnProgress
  readonly signal: AbortSignal
}

/** Rebuilds each named read model, which then replaces the old one. An aborted rebuild leaves the old one in place. */
export const rebuildProjections = (
  config: Config,
  clock: Clock,
  { names, progress, signal }: Rebuild,
  say: Say,
): Promise<void> =>
  withSettled(config, clock, say, async ({ log, views, snapshots, pepper }) => {
    // The snapshot may contain data of the old read models.
    await snapshots.remove()
    const chosen = readModelsOf(pepper.key).filter(({ name }) => names.includes(name))
    const name = chosen.map((model) => model.name).join(', ')
    await rebuild({ clock, log, views }, chosen, ({ done, position, head }) => {
      if (signal.aborted) throw signal.reason
      progress({ name, done, total: Math.round((done * Number(head)) / Number(position)) })
    })
  })
