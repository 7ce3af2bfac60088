import { cp, mkdtemp, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase } from '../src/adapters/embedded/sqlite.ts'
import { loadConfig } from '../src/config/load.ts'
import type { LedgerStatus } from '../src/contract/history/ledger.ts'
import { evaluation } from './http.ts'
import { p99AtRate } from './load.ts'
import { median, progress, quantile, type Row, row, seconds } from './measure.ts'
import { fillPast, type Sizes } from './past-data.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

/** Events in all; the targets are those of 1,000,000. */
const EVENTS = Number(process.env['ROLLCALL_BENCH_EVENTS'] ?? 1_000_000)
const SIZES: Sizes = { flags: 100, changes: 100, most: Math.round(EVENTS / 10), tokens: Math.round(EVENTS * 0.9) }
/** Evaluations a second, and seconds of a slice. */
const RATE = Number(process.env['ROLLCALL_BENCH_RATE'] ?? 1000)
const SECONDS = 2
const SLICES = 5
const RESTARTS = 5
const PROOFS = 500
const TOKEN = 'bench-of-the-ledger-with-enough-letters'

const started = (directory: string): Promise<Server> => {
  const set = { 'storage.data_dir': directory, 'authentication.methods.token.bootstrap.token': TOKEN }
  return startServer(
    'service',
    ...Object.entries(set).map(([key, value]) => `--set=${key}=${value}`),
    `--token=${TOKEN}`,
  )
}

const get = async ({ url }: Server, path: string): Promise<string> => {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${TOKEN}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 200)}`)
  return text
}

const LAG = /^rollcall_history_index_lag_events (\d+)$/m

/** True until the tree has all events, and the index all full segments. */
const isBuilding = async (server: Server): Promise<boolean> => {
  const { state } = JSON.parse(await get(server, '/audit/v1/ledger')) as LedgerStatus
  return state === 'building' || LAG.exec(await get(server, '/metrics'))?.[1] !== '0'
}

/** C15: the evaluations while the tree and the index are built for the first time / afterwards. */
const firstBuild = async (directory: string): Promise<Row> => {
  const server = await started(directory)
  try {
    const load = evaluation({ ...server, tokens: [TOKEN] }, '/evaluate/v1/boolean', SIZES.flags)
    const slice = () => p99AtRate(load, RATE, SECONDS)
    const [building, built]: [number[], number[]] = [[], []]
    while (await isBuilding(server)) building.push(await slice())
    progress(`C15: built during ${building.length} slices of ${SECONDS} s`)
    if (building.length === 0) throw new Error('the tree was built before the first slice: use more events')
    for (let n = 0; n < SLICES; n++) built.push(await slice())
    const [a, b] = [Math.max(1, median(built)), median(building)]
    const note = `${b} ms against ${a} ms at ${RATE}/s`
    return row(
      'C15',
      'p99 of evaluations while tree and index are built / afterwards',
      b / a,
      { atMost: 1.5 },
      '',
      note,
    )
  } finally {
    await server.stop()
  }
}

/** C13: the inclusion proof of an event / one flag. */
const proofs = async (directory: string): Promise<Row> => {
  const server = await started(directory)
  try {
    const { sealed } = JSON.parse(await get(server, '/audit/v1/ledger')) as LedgerStatus
    const took: Record<'proof' | 'flag', number[]> = { proof: [], flag: [] }
    for (let n = 0; n < PROOFS; n++) {
      const position = 1 + Math.floor(((n * 0.618_034) % 1) * (sealed!.size - 1))
      took.proof.push(await seconds(() => get(server, `/audit/v1/ledger/proof/${position}`)))
      took.flag.push(await seconds(() => get(server, '/api/v1/flags/flag-1')))
    }
    const [proof, flag] = [quantile(took.proof, 0.99) * 1000, quantile(took.flag, 0.99) * 1000]
    const note = `${proof.toFixed(1)} ms against ${flag.toFixed(1)} ms, ${PROOFS} of each`
    return row('C13', 'inclusion proof / one flag, p99', proof / flag, { atMost: 5 }, '', note)
  } finally {
    await server.stop()
  }
}

const HISTORY = '/audit/v1/events?type=TokenIssued&order=desc&limit=1'

/** C14: bytes that the ledger keeps for an event, and bytes of `fingerprint` in the event of a new token. */
const bytesKept = async (directory: string): Promise<readonly Row[]> => {
  const server = await started(directory)
  try {
    const body = JSON.stringify({ name: 'bench' })
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    await fetch(`${server.url}/auth/v1/method/token`, { method: 'POST', headers, body })
    const { events } = JSON.parse(await get(server, HISTORY)) as {
      events: readonly { data: { fingerprint?: string } }[]
    }
    const { fingerprint } = events[0]!.data
    if (fingerprint === undefined) throw new Error('the event of a new token has no fingerprint')
    const { sealed } = JSON.parse(await get(server, '/audit/v1/ledger')) as LedgerStatus
    const kept = (await stat(join(directory, 'ledger.sqlite'))).size / sealed!.size
    const added = Buffer.byteLength(`,${JSON.stringify({ fingerprint }).slice(1, -1)}`)
    return [
      row('C14', 'bytes that the ledger keeps for an event', kept, { atMost: 64 }),
      row('C14', 'bytes that the fingerprint adds to the event of a token', added, { atMost: 80 }),
    ]
  } finally {
    await server.stop()
  }
}

/** Removes the rows of the index of events and the files of the ledger. */
const strip = async (directory: string): Promise<void> => {
  for (const name of ['ledger.sqlite', 'ledger.sqlite-wal', 'ledger.sqlite-shm'])
    await rm(join(directory, name), { force: true })
  const views = await openDatabase(join(directory, 'views.sqlite'), 'durable')
  const tables = views.prepare(`select name from sqlite_schema where type = 'table' and name like 'event_index%'`).all()
  for (const { name } of tables as readonly { readonly name: string }[]) views.exec(`drop table "${name}"`)
  views.exec(`delete from views where name like 'event_index%'`)
  views.close()
}

/** C12: a start over the index and the ledger / over a copy without them. Each start has a fresh copy. */
const restarts = async (directory: string): Promise<Row> => {
  const took: Record<'whole' | 'bare', number[]> = { whole: [], bare: [] }
  const copy = `${directory}-copy`
  for (let round = -1; round < RESTARTS; round++)
    for (const kind of ['whole', 'bare'] as const) {
      await cp(directory, copy, { recursive: true })
      if (kind === 'bare') await strip(copy)
      let server: Server | undefined
      const spent = await seconds(async () => void (server = await started(copy)))
      await server!.stop()
      await rm(copy, { recursive: true })
      if (round >= 0) took[kind].push(spent)
    }
  const [whole, bare] = [median(took.whole), median(took.bare)]
  const note = `${whole.toFixed(2)} s against ${bare.toFixed(2)} s`
  return row('C12', 'restart with index and ledger / without them', whole / bare, { atMost: 1.2 }, '', note)
}

/** C12 to C15: the ledger of a service in a process of its own, over a log that was filled before its first start. */
export const run = () =>
  offFirstCore(async (): Promise<readonly Row[]> => {
    progress(`C12 to C15: a log of ${EVENTS} events`)
    const folder = await mkdtemp(join(process.env['ROLLCALL_BENCH_DIR'] ?? process.cwd(), '.bench-'))
    const directory = join(folder, 'data')
    try {
      await fillPast(loadConfig({ env: {}, flags: { 'storage.data_dir': directory } }).config, SIZES)
      const building = await firstBuild(directory)
      return [await restarts(directory), await proofs(directory), ...(await bytesKept(directory)), building]
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
