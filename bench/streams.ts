import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { evaluation, FLAGS, json, TOKENS } from './http.ts'
import { p99AtRate } from './load.ts'
import { median, progress, quantile, type Row, row } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

const MANY = 5_000
const FIRST = 2_500
const CLIENTS = 2_000
const AT_ONCE = 100
const CHANGES = Number(process.env['ROLLCALL_BENCH_CHANGES'] ?? 200)
const SECONDS = Number(process.env['ROLLCALL_BENCH_SECONDS'] ?? 20)
/** Evaluations a second. */
const RATE = 400
const EVENTS = '/ofrep/v1/events'

const serverOf = () =>
  startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`, '--set=server.streams.per_credential=10000')

/** A change of which clients are waited for: its position, and the clients that have no event about it. */
type Awaited = { readonly position: bigint; readonly missing: Set<Socket>; readonly done: () => void }

/** Clients of event streams on connections without a library, so that they take little of the machine. */
const listeners = async ({ url, tokens }: Server, count: number) => {
  const { hostname, port } = new URL(url)
  /** Position of the newest event of each client. */
  const newest = new Map<Socket, bigint>()
  let awaited: Awaited | undefined
  const received = (socket: Socket, text: string): void => {
    const id = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]
    if (id === undefined) return
    newest.set(socket, BigInt(id))
    if (!awaited || BigInt(id) < awaited.position) return
    awaited.missing.delete(socket)
    if (awaited.missing.size === 0) awaited.done()
  }
  const open = async (): Promise<void> => {
    const socket = connect(Number(port), hostname)
    newest.set(socket, 0n)
    socket.setEncoding('utf8')
    socket.write(`GET ${EVENTS} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${tokens[0]}\r\n\r\n`)
    let text = ''
    while (!text.includes('refetchEvaluation')) {
      text += String((await once(socket, 'data'))[0])
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
    }
    socket.on('data', (chunk: string) => received(socket, chunk))
  }
  for (let n = 0; n < count; n += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, open))
  return {
    /** Resolves when every client has an event about a change. */
    told: (position: bigint) =>
      new Promise<void>((done) => {
        const missing = new Set([...newest].flatMap(([socket, last]) => (last < position ? socket : [])))
        awaited = { position, missing, done }
        if (missing.size === 0) done()
      }),
    close: async () => {
      for (const socket of newest.keys()) socket.destroy()
      await pause(1_000)
    },
  }
}

/** Changes a flag; returns the position of the event when the append is acknowledged. */
const change = async ({ url, tokens: [token = ''] }: Server, n: number): Promise<bigint> => {
  const headers = { ...json, authorization: `Bearer ${token}` }
  const body = JSON.stringify({ name: `name ${n}`, enabled: n % 2 === 0 })
  const answer = await fetch(`${url}/api/v1/namespaces/default/flags/flag-0`, { method: 'PUT', headers, body })
  if (answer.status !== 200) throw new Error(await answer.text())
  await answer.arrayBuffer()
  return BigInt(answer.headers.get('event-position')!)
}

/**
 * P1: memory of the process for each of 5,000 further streams, after a garbage collection. The first streams load code
 * and let the young generation of the heap grow, which takes up to 48 MB once, not for each stream.
 */
const memory = async (): Promise<Row> => {
  const server = await serverOf()
  try {
    const first = await listeners(server, FIRST)
    const before = await server.measure('memory')
    const clients = await listeners(server, MANY)
    const bytes = ((await server.measure('memory')) - before) / MANY
    await Promise.all([first.close(), clients.close()])
    const name = `memory of an open event stream, ${MANY.toLocaleString('en')} more than ${FIRST.toLocaleString('en')} open`
    return row('P1', name, bytes / 1_000, { atMost: 20 }, ' kB')
  } finally {
    await server.stop()
  }
}

/** P2: time from the acknowledgement of a change until the last of all clients has its event. */
const delay = async (server: Server): Promise<Row> => {
  const clients = await listeners(server, CLIENTS)
  const times: number[] = []
  const before = await server.measure('cpu')
  for (let n = 0; n < CHANGES; n++) {
    const position = await change(server, n)
    const start = performance.now()
    await clients.told(position)
    times.push(performance.now() - start)
    await pause(100)
  }
  const cpu = (1_000 * ((await server.measure('cpu')) - before)) / CHANGES
  await clients.close()
  const name = `from an acknowledged change to the last of ${CLIENTS.toLocaleString('en')} clients, p99 of ${CHANGES}`
  return row(
    'P2',
    name,
    quantile(times, 0.99),
    { atMost: 500 },
    ' ms',
    `median ${median(times).toFixed(0)} ms; ${cpu.toFixed(0)} ms of CPU of the service for each change`,
  )
}

/** P3: p99 of evaluations while one change a second goes to all clients, and without changes, by turns. */
const evaluations = async (server: Server): Promise<Row> => {
  const clients = await listeners(server, CLIENTS)
  const load = { ...evaluation(server, '/evaluate/v1/boolean'), inThread: true }
  const p99 = { changes: [] as number[], none: [] as number[] }
  for (let round = 0; round < 3; round++) {
    p99.none.push(await p99AtRate(load, RATE, SECONDS))
    const state = { over: false }
    const changing = (async () => {
      for (let n = 0; !state.over; n++) {
        await change(server, n)
        await pause(1_000)
      }
    })()
    p99.changes.push(await p99AtRate(load, RATE, SECONDS))
    state.over = true
    await changing
  }
  await clients.close()
  const [some, none] = [Math.min(...p99.changes), Math.max(1, Math.min(...p99.none))]
  const name = `p99 of ${RATE} evaluations a second while one change a second goes to ${CLIENTS.toLocaleString('en')} streams / without changes`
  return row('P3', name, some / none, { atMost: 2 }, '', `${some} ms, ${none} ms`)
}

export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const rows = [await memory()]
    progress(`P1: ${rows[0]!.figure}`)
    const server = await serverOf()
    try {
      for (const part of [delay, evaluations]) {
        rows.push(await part(server))
        progress(`${rows.at(-1)!.id}: ${rows.at(-1)!.figure}`)
      }
    } finally {
      await server.stop()
    }
    return rows
  })
