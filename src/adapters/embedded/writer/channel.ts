import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Refusal } from '../../../base/errors.ts'
import { fairGate, type Lease } from '../../../base/gate.ts'
import { takenAway } from '../files/watched-files.ts'
import { DAMAGED } from '../sqlite.ts'
import {
  type Calls,
  type Failure,
  type Op,
  type Paths,
  type Reply,
  type Request,
  type Side,
  sides,
} from './protocol.ts'

/** Maximum number of pending requests per database; further calls wait. */
const BOUND = 4096

type Pending = {
  readonly lease: Lease | undefined
  readonly done: (value: unknown) => void
  readonly fail: (cause: Error) => void
}

/**
 * Main thread's end of the connection to the writer thread. All requests of one turn of the event loop are sent as one
 * message. A failed call throws the Refusal `backend_unavailable`.
 */
export type Channel = {
  readonly call: <K extends Op>(op: K, ...args: Parameters<Calls[K]>) => Promise<ReturnType<Calls[K]>>
  /** Refuses all pending and further calls, because a file was taken away. Reports the cause unless a loss was reported. */
  readonly loseAll: (cause: Error) => void
  /** Refuses all further calls for the views, because their file is damaged. */
  readonly loseViews: (cause: Error) => void
  /** Switches to a new file of views. Calls that were pending for the previous file are refused. */
  readonly renewViews: () => Promise<void>
  readonly close: () => Promise<void>
}

type ChannelOptions = {
  /** Called once when a database can no longer be written or the writer thread ends unexpectedly. */
  readonly onLost: (error: Error) => void
  /** Called once per file, instead of `onLost`, when the file of the read models is damaged. */
  readonly onDamagedViews: (error: Error) => void
  /** Called for each write that fails for lack of space; returns its cause. */
  readonly noRoom: () => Error
}

/**
 * Databases that can no longer be written, with the cause. A lost database is reported once; the loss of the views is
 * reported only if nothing else is lost.
 */
const losses = (deliver: (cause: Error, report: (cause: Error) => void) => void) => {
  const lost = new Map<Side, Error>()
  const lose = (side: Side, cause: Error, report: (cause: Error) => void) => {
    if (side === 'views' ? lost.size === 0 : !lost.has('log') && !lost.has('keys')) deliver(cause, report)
    if (!lost.has(side)) lost.set(side, cause)
  }
  return { lost, lose }
}

/** Error of a failure of the writer thread. */
const causeOf = ({ kind, message }: Failure, file: string): Error => {
  if (kind === 'taken') return takenAway(message)
  const error = new Error(`${file}: ${message}`)
  return kind === 'damaged' ? Object.assign(error, { code: DAMAGED }) : error
}

/** Resolves with the first message of the writer thread. */
const isReady = (worker: Worker): Promise<void> =>
  new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', () => resolve())
  })

/** Sends all requests of one turn of the event loop as one message. */
const batches = (worker: Worker) => {
  let requests: Request[] = []
  const send = () => {
    const batch = requests
    requests = []
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(batch)
  }
  return (request: Request): void => {
    // `setImmediate` instead of `nextTick`, which runs after each message, so requests that arrived together would be
    // sent one by one.
    if (requests.push(request) === 1) setImmediate(send)
  }
}

/** Resolves when the writer thread has ended. */
const endOf = (worker: Worker, onEnd: (cause: Error) => void): Promise<void> =>
  new Promise((resolve) => {
    worker.once('exit', () => {
      onEnd(new Error('the thread that writes to the disk has ended'))
      resolve()
    })
  })

/** Starts the writer thread on its files and resolves when it is ready. Throws if a file does not open. */
export const openChannel = async (
  paths: Paths,
  { onLost, onDamagedViews, noRoom }: ChannelOptions,
): Promise<Channel> => {
  const worker = new Worker(new URL(`./writer${extname(import.meta.url)}`, import.meta.url), { workerData: paths })
  const pending = new Map<number, Pending>()
  const bound = { total: BOUND }
  const gates = { log: fairGate(bound), views: fairGate(bound), keys: fairGate(bound) }
  const send = batches(worker)
  /** Number of the current file of the views. */
  let [serial, era] = [0, 0]
  let closing: Promise<void> | undefined

  const files = { log: paths.events, views: paths.views, keys: paths.subjects }
  const { lost, lose } = losses((cause, report) => void (closing ?? report(cause)))

  const settle = (id: number, how: (request: Pending) => void) => {
    const request = pending.get(id)
    if (!request) return
    pending.delete(id)
    request.lease?.free()
    how(request)
  }

  const onReply = ([ids, outcome]: Reply) => {
    if ('values' in outcome) return ids.forEach((id, n) => settle(id, ({ done }) => done(outcome.values[n])))
    const { kind, side } = outcome
    const cause = kind === 'full' ? noRoom() : causeOf(outcome, files[side])
    if (kind === 'taken') return onEnd(cause)
    if (kind === 'lost') lose(side, cause, onLost)
    if (kind === 'damaged') lose(side, cause, side === 'views' ? onDamagedViews : onLost)
    for (const id of ids) settle(id, ({ fail }) => fail(cause))
  }

  const onEnd = (cause: Error) => {
    for (const side of ['log', 'views', 'keys'] as const) lose(side, cause, onLost)
    for (const id of pending.keys()) settle(id, ({ fail }) => fail(cause))
  }

  await isReady(worker)
  worker.on('message', onReply)
  worker.on('error', onEnd)
  const ended = endOf(worker, onEnd)

  const post = (op: Op, args: readonly unknown[], lease?: Lease) =>
    new Promise<unknown>((resolve, reject) => {
      const fail = (cause: Error) => reject(new Refusal('backend_unavailable', undefined, { cause }))
      const id = ++serial
      pending.set(id, { lease, done: resolve, fail })
      send([id, op, args])
    })

  const call = async (op: Op, ...args: readonly unknown[]) => {
    if (op === 'close' || op === 'renewViews') return post(op, args)
    const side = sides[op]
    const began = era
    const taken = gates[side].take()
    const lease = taken instanceof Promise ? await taken : taken
    const cause = lost.get(side)
    if (cause || closing || (side === 'views' && era !== began)) {
      lease.free()
      throw new Refusal('backend_unavailable', undefined, cause ? { cause } : {})
    }
    return post(op, args, lease)
  }

  return {
    call: call as Channel['call'],
    loseAll: onEnd,
    loseViews: (cause) => void lost.set('views', cause),
    renewViews: async () => {
      era++
      await call('renewViews')
      lost.delete('views')
    },
    // A dead writer thread never replies; then `ended` resolves.
    close: () => (closing ??= Promise.race([call('close').catch(() => undefined), ended]).then(() => ended)),
  }
}
