import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type Calls, type Failure, type Paths, type Reply, type Request, type Side, sides } from './protocol.ts'
import { type Database, isBroken, isBusy, isFull, openDatabase } from './sqlite.ts'
import { keysWriter } from './write-keys.ts'
import { logWriter } from './write-log.ts'
import { viewsWriter } from './write-views.ts'

/**
 * The one writer, in a thread of its own. It takes everything that waits, commits what belongs to the log as one group with one sync,
 * answers, and then writes the views that wait: they are never ahead of the log.
 */
const RETRY_MS = 250
const port = parentPort!
const paths = workerData as Paths
const databases: Readonly<Record<Side, Database>> = {
  log: await openDatabase(paths.events, 'durable'),
  views: await openDatabase(paths.views, 'rebuildable'),
  keys: await openDatabase(paths.subjects, 'erasing'),
}
const log = logWriter(databases.log)
const views = viewsWriter(databases.views)
const keys = keysWriter(databases.keys, `${paths.subjects}-journal`)
const ops: Calls = { ...log.ops, ...views.ops, ...keys.ops, close: () => undefined }
const lost = new Map<Side, string>()
/** Writes of views that found no room: kept in order and tried again, so that no mark gets ahead of the rows before it. */
let stuck: readonly Request[] = []

const answer = (group: readonly Request[], outcome: { readonly values: readonly unknown[] } | Failure) =>
  port.postMessage([group.map(([id]) => id), outcome] satisfies Reply)

/** One transaction. After an error of the disk the side is never written again: what a failed sync left behind nobody knows. */
const commit = (side: Side, group: readonly Request[]): 'done' | 'later' => {
  const database = databases[side]
  let committing = false
  try {
    const before = lost.get(side)
    if (before !== undefined) throw new Error(before)
    database.exec('begin immediate')
    const values = group.map(([, op, args]) => (ops[op] as (...args: readonly unknown[]) => unknown)(...args))
    committing = true
    database.exec('commit')
    answer(group, { values })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    undo(side)
    const noRoom = isFull(error) || isBusy(error)
    if (noRoom && side === 'views') return 'later'
    if (isBroken(error) || (committing && !noRoom) || (side === 'views' && !noRoom)) lost.set(side, lost.get(side) ?? message)
    answer(group, { kind: lost.has(side) ? 'lost' : 'failed', message })
  }
  return 'done'
}

const undo = (side: Side) => {
  try {
    databases[side].exec('rollback')
  } catch {
    // After some errors SQLite has rolled back by itself and there is no transaction to end.
  }
  try {
    if (side === 'log') log.reset()
    if (side === 'views') views.reset()
  } catch (error) {
    lost.set(side, error instanceof Error ? error.message : String(error))
  }
}

const writeViews = (more: readonly Request[]) => {
  const group = [...stuck, ...more]
  if (group.length === 0) return
  const outcome = commit('views', group)
  if (outcome === 'later' && stuck.length === 0) setTimeout(retry, RETRY_MS).unref()
  stuck = outcome === 'later' ? group : []
}

const retry = () => {
  writeViews([])
  if (stuck.length > 0) setTimeout(retry, RETRY_MS).unref()
}

/** Brings what was committed out of the write-ahead log into the file, so that the file alone is a whole copy. */
const settle = (database: Database) => {
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // What finds no room stays beside the file, as safe as before, until the next start.
  }
}

const close = (request: Request) => {
  for (const [side, database] of Object.entries(databases)) {
    if (!lost.has(side as Side)) settle(database)
    database.close()
  }
  answer([request], { values: [undefined] })
  port.close()
}

port.on('message', (first: readonly Request[]) => {
  const waiting = [...first]
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) waiting.push(...(next.message as Request[]))
  const of = (side: Side) => waiting.filter(([, op]) => op !== 'close' && sides[op] === side)
  const durable = of('log')
  if (durable.length > 0) commit('log', durable)
  for (const request of of('keys')) commit('keys', [request])
  writeViews(of('views'))
  const end = waiting.find(([, op]) => op === 'close')
  if (end) close(end)
})
port.postMessage('ready')
