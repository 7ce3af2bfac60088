import { dirname, join } from 'node:path'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../base/clock.ts'
import { messageOf } from '../../../base/errors.ts'
import { LOCK } from '../files/lock.ts'
import { insistOnSame, isTakenAway, openFilesOf } from '../files/watched-files.ts'
import {
  type Database,
  isBroken,
  isBusy,
  isDamage,
  isFull,
  isMisshapen,
  type Mode,
  ofFile,
  openDatabase,
} from '../sqlite.ts'
import { type Calls, type Failure, type Paths, type Reply, type Request, type Side, sides } from './protocol.ts'
import { keysWriter } from './write-keys.ts'
import { logWriter } from './write-log.ts'
import { stuckRows } from './write-rows.ts'
import { viewsWriter } from './write-views.ts'

/**
 * The writer thread. The writer thread takes all pending requests, commits the events as one group with one sync, and
 * replies. After the events it writes the views, so views are never ahead of the log.
 */
const port = parentPort!
const paths = workerData as Paths
/** Opens a database and creates the writer of its tables. An error because of damage contains the name of the file. */
const opened = <W>(
  file: string,
  mode: Mode,
  writer: (database: Database) => W,
  isAtFault?: (error: unknown) => boolean,
) =>
  ofFile(
    file,
    async () => {
      const database = await openDatabase(file, mode)
      return { database, writer: writer(database) }
    },
    isAtFault,
  )
const { database: events, writer: log } = await opened(paths.events, 'durable', (database) =>
  logWriter(database, paths.keepsTimes),
)
const { database: subjects, writer: keys } = await opened(paths.subjects, 'erasing', (database) =>
  keysWriter(database, `${paths.subjects}-journal`),
)
const openViews = async () => {
  const database = await openDatabase(paths.views, 'rebuildable')
  try {
    return { database, writer: viewsWriter(database) }
  } catch (error) {
    database.close()
    throw error
  }
}
/** The views are not compared before each reply, because they are derived from the log and may be replaced. */
const insist = insistOnSame([paths.events, paths.subjects, join(dirname(paths.events), LOCK)].flatMap(openFilesOf))
let { database: readModels, writer: views } = await ofFile(paths.views, openViews, isMisshapen)
const databases: Record<Side, Database> = { log: events, views: readModels, keys: subjects }
const withViews = ({ ops: own }: typeof views): Calls => ({
  ...log.ops,
  ...own,
  ...keys.ops,
  renewViews: () => undefined,
  close: () => undefined,
})
let ops = withViews(views)
const lost = new Map<Side, Failure>()

const answer = (group: readonly Request[], outcome: Reply[1]) =>
  port.postMessage([group.map(([id]) => id), outcome] satisfies Reply)

/**
 * Runs a group of requests in one transaction. After a disk error the database is never written again, because the
 * result of a failed sync is unknown. Writes of views get no reply while the disk is full; the caller gets the failure.
 */
const commit = (side: Side, group: readonly Request[]): Failure | undefined => {
  const database = databases[side]
  let committing = false
  try {
    const before = lost.get(side)
    if (before !== undefined) {
      answer(group, { ...before, side })
      return undefined
    }
    if (side !== 'views') insist()
    database.exec('begin immediate')
    const values = group.map(([, op, args]) => (ops[op] as (...args: readonly unknown[]) => unknown)(...args))
    if (side === 'log') log.insist()
    committing = true
    database.exec('commit')
    if (side !== 'views') insist()
    answer(group, { values })
  } catch (error) {
    const message = messageOf(error)
    undo(side)
    if (isTakenAway(error)) {
      const taken: Failure = { kind: 'taken', message: (error as Error & { readonly path: string }).path }
      for (const each of Object.keys(databases)) lost.set(each as Side, taken)
      answer(group, { ...taken, side })
      return undefined
    }
    const noRoom = isFull(error) || isBusy(error)
    const failure: Failure = { kind: isFull(error) ? 'full' : 'failed', message }
    if (noRoom && side === 'views') return failure
    const isAtFault = isDamage(error) || (side !== 'keys' && isMisshapen(error))
    if (isAtFault || isBroken(error) || (committing && !noRoom) || (side === 'views' && !noRoom))
      lost.set(side, { kind: isAtFault ? 'damaged' : 'lost', message })
    answer(group, { ...(lost.get(side) ?? failure), side })
  }
  return undefined
}

const undo = (side: Side) => {
  try {
    databases[side].exec('rollback')
  } catch {
    // After some errors SQLite has already rolled back.
  }
  try {
    if (side === 'log') log.reset()
    if (side === 'views') views.undo()
  } catch (error) {
    lost.set(side, { kind: 'lost', message: messageOf(error) })
  }
}

const writeViews = stuckRows(
  systemClock,
  (group) => commit('views', group),
  (others, failure) => answer(others, { ...failure, side: 'views' }),
)

/** Checkpoints the write-ahead log into the file, so that the file alone is a complete copy. */
const settle = (database: Database) => {
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // Without disk space, the write-ahead log stays next to the file until the next start; no data is lost.
  }
}

const shut = (database: Database) => {
  try {
    database.close()
  } catch {
    // The file is closed already, because an earlier `renew` failed to open the new file.
  }
}

/** Switches to the new file at the path of the views. Rows of the old file that wait for disk space are refused. */
const renew = async (request: Request): Promise<void> => {
  lost.set('views', { kind: 'lost', message: 'another file replaces it' })
  writeViews([])
  shut(readModels)
  try {
    ;({ database: readModels, writer: views } = await openViews())
    databases.views = readModels
    ops = withViews(views)
    lost.delete('views')
    answer([request], { values: [undefined] })
  } catch (error) {
    const message = messageOf(error)
    const kind = isFull(error) ? 'full' : isDamage(error) || isMisshapen(error) ? 'damaged' : 'failed'
    answer([request], { kind, message, side: 'views' })
  }
}
let renewing = Promise.resolve()

const close = (request: Request) => {
  for (const [side, database] of Object.entries(databases)) {
    if (!lost.has(side as Side)) settle(database)
    shut(database)
  }
  answer([request], { values: [undefined] })
  port.close()
}

port.on('message', (first: readonly Request[]) => {
  const waiting = [...first]
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    waiting.push(...(next.message as Request[]))
  const of = (side: Side) => waiting.filter(([, op]) => op !== 'close' && op !== 'renewViews' && sides[op] === side)
  const durable = of('log')
  if (durable.length > 0) commit('log', durable)
  for (const request of of('keys')) commit('keys', [request])
  writeViews(of('views'))
  for (const request of waiting.filter(([, op]) => op === 'renewViews')) renewing = renewing.then(() => renew(request))
  const end = waiting.find(([, op]) => op === 'close')
  if (end) void renewing.then(() => close(end))
})
port.postMessage('ready')
