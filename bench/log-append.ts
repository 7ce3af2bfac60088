import { randomUUID } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { eventsSchema } from '../src/adapters/embedded/schema.ts'
import { openDatabase } from '../src/adapters/embedded/sqlite.ts'
import type { EventLog } from '../src/events/log.ts'
import { newStore, tokenIssued } from './log-store.ts'
import { alternate, progress, type Row, row } from './measure.ts'

const sample = tokenIssued()
/** An event of its own, made at next to no cost: the store is measured, not its caller. */
const another = () => ({ ...sample, id: randomUUID() })

/** A number of writers that each append to a new stream of a category again and again until the time is up. */
export const writers =
  (log: EventLog, count: number, category = 'token') =>
  async (until: number) => {
    let appended = 0
    const write = async () => {
      while (performance.now() < until) {
        await log.append(`${category}-${randomUUID()}`, [another()], 'none')
        appended++
      }
    }
    await Promise.all(Array.from({ length: count }, write))
    return appended
  }

/** What the disk does: the same bytes to the end of a file and a sync, one after the other, on this thread. */
const bareDisk = (path: string) => {
  const file = openSync(path, 'a')
  const slice = (until: number) => {
    let written = 0
    while (performance.now() < until) {
      const { id, type, time, data, meta } = another()
      writeSync(file, `${JSON.stringify([`token-${randomUUID()}`, id, type, time, data, meta])}\n`)
      fdatasyncSync(file)
      written++
    }
    return written
  }
  return { slice, close: () => closeSync(file) }
}

/** What the engine does on this thread: one durable transaction an event, without checks. */
const bareEngine = async (path: string) => {
  const database = await openDatabase(path, 'durable')
  database.exec(eventsSchema)
  const insert = database.prepare('insert into events values (?, ?, ?, ?, ?, ?, ?, ?)')
  let position = 0
  const slice = (until: number) => {
    const first = position
    while (performance.now() < until) {
      const { id, type, time, data, meta } = another()
      database.exec('begin immediate')
      insert.run(++position, `token-${randomUUID()}`, 0, id, type, time, data, meta)
      database.exec('commit')
    }
    return position - first
  }
  return { slice, close: () => database.close() }
}

/** Appends against the bare engine and the bare disk, in turns. */
export const measureAppends = async (rounds: number) => {
  const store = await newStore()
  const disk = bareDisk(join(store.directory, 'bare'))
  const engine = await bareEngine(join(store.directory, 'engine.sqlite'))
  try {
    return await alternate(
      {
        disk: disk.slice,
        engine: engine.slice,
        one: writers(store.log, 1),
        some: writers(store.log, 16),
        many: writers(store.log, 64),
      },
      { rounds },
    )
  } finally {
    disk.close()
    engine.close()
    await store.done()
  }
}

/** B5 and B6: what it costs that an append is durable before it is answered, and what it gains to commit together. */
export const run = async (): Promise<readonly Row[]> => {
  progress('B5, B6: appends against the bare disk and the bare engine')
  const { disk, engine, one, some, many } = await measureAppends(7)
  const note = `disk ${Math.round(disk)}/s, engine ${Math.round(engine)}/s, 1 writer ${Math.round(one)}/s, 16 ${Math.round(some)}/s, 64 ${Math.round(many)}/s`
  return [
    row('B5', 'single durable append / write + fdatasync', one / disk, { atLeast: 0.65 }, '', note),
    row('B6', '64 concurrent appends / write + fdatasync', many / disk, { atLeast: 2.2 }),
  ]
}
