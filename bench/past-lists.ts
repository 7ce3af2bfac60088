import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { loadConfig } from '../src/config/load.ts'
import { median, progress, type Row, row, seconds } from './measure.ts'
import { offFirstCore, startServer } from './processes.ts'
import { seedFlags } from './seed.ts'

/** As many as a namespace may have. */
const FLAGS = Number(process.env['ROLLCALL_BENCH_FLAGS'] ?? 19_000)
/** Flags that are changed after the moment. */
const CHANGED = 100
const ROUNDS = 9
const TOKEN = 'bench-of-the-past-with-enough-letters'
const LIST = '/api/v1/namespaces/default/flags'

/** C11: what the list of the web UI costs at a moment, which is sorted, against a page in order of creation. */
export const run = () =>
  offFirstCore(async (): Promise<readonly Row[]> => {
    const directory = await mkdtemp(join(process.env['ROLLCALL_BENCH_DIR'] ?? process.cwd(), '.bench-'))
    try {
      progress(`C11: ${FLAGS} flags in a namespace`)
      await seedFlags(loadConfig({ env: {}, flags: { 'storage.data_dir': directory } }).config, FLAGS)
      const set = { 'storage.data_dir': directory, 'authentication.methods.token.bootstrap.token': TOKEN }
      const given = Object.entries(set).map(([key, value]) => `--set=${key}=${value}`)
      const server = await startServer('service', ...given, `--token=${TOKEN}`)
      const ask = async (method: string, path: string, body?: object): Promise<string> => {
        const headers = { authorization: `Bearer ${TOKEN}`, ...(body && { 'content-type': 'application/json' }) }
        const answer = await fetch(server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
        const text = await answer.text()
        if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`)
        return answer.headers.get('event-position') ?? ''
      }
      try {
        const moment = await ask('POST', LIST, { key: 'last', name: 'last' })
        for (let n = 0; n < CHANGED; n++) await ask('PUT', `${LIST}/flag-${n * 7}`, { name: `changed ${n}` })
        const paths = {
          plain: `${LIST}?limit=50&include=targeting&at=${moment}`,
          sorted: `${LIST}?limit=50&sort=name&order=asc&include=targeting&at=${moment}`,
          searched: `${LIST}?limit=50&q=flag-1&include=targeting&at=${moment}`,
        }
        const took = { plain: [] as number[], sorted: [] as number[], searched: [] as number[] }
        for (let round = -1; round < ROUNDS; round++)
          for (const name of ['plain', 'sorted', 'searched'] as const) {
            const time = await seconds(async () => void (await ask('GET', paths[name])))
            if (round >= 0) took[name].push(time * 1000)
          }
        const plain = median(took.plain)
        return (['sorted', 'searched'] as const).map((name) => {
          const ms = median(took[name])
          const note = `${ms.toFixed(1)} ms against ${plain.toFixed(1)} ms`
          const what = `${name} page of ${FLAGS.toLocaleString('en')} flags at a moment / page in order of creation`
          return row('C11', what, ms / plain, { atMost: 3 }, '', note)
        })
      } finally {
        await server.stop()
      }
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })
