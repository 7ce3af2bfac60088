import { onFilled } from './filled.ts'
import { progress, type Row, row, times } from './measure.ts'
import { offFirstCore, type Server } from './processes.ts'
import { seedFlags } from './seed.ts'

/** Nearly as many as a namespace may have. */
const FLAGS = Number(process.env['ROLLCALL_BENCH_FLAGS'] ?? 19_000)
/** Flags that are changed after the moment. */
const CHANGED = 100
const ROUNDS = 9
const TOKEN = 'bench-of-the-past-with-enough-letters'
const LIST = '/api/v1/namespaces/default/flags'

/** Asks for something; gives the position that the answer names, if it does. */
const ask = async ({ url }: Server, method: string, path: string, body?: object): Promise<string> => {
  const headers = { authorization: `Bearer ${TOKEN}`, ...(body && { 'content-type': 'application/json' }) }
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`)
  return answer.headers.get('event-position') ?? ''
}

const measured = async (server: Server): Promise<readonly Row[]> => {
  const moment = await ask(server, 'POST', LIST, { key: 'last', name: 'last' })
  for (let n = 0; n < CHANGED; n++) await ask(server, 'PUT', `${LIST}/flag-${n * 7}`, { name: `changed ${n}` })
  const page = `${LIST}?limit=50&include=targeting&at=${moment}`
  const got = (path: string) => async () => void (await ask(server, 'GET', path))
  const { plain, ...others } = await times(ROUNDS, {
    plain: got(page),
    sorted: got(`${page}&sort=name&order=asc`),
    searched: got(`${page}&q=flag-1`),
  })
  return Object.entries(others).map(([name, ms]) => {
    const what = `${name} page of ${FLAGS.toLocaleString('en')} flags at a moment / page in order of creation`
    return row('C16', what, ms / plain, { atMost: 3 }, '', `${ms.toFixed(1)} ms against ${plain.toFixed(1)} ms`)
  })
}

/** C16: what the list of the web UI costs at a moment, which is sorted, against a page in order of creation. */
export const run = () =>
  offFirstCore((): Promise<readonly Row[]> => {
    progress(`C16: ${FLAGS} flags in a namespace`)
    return onFilled(TOKEN, (config) => seedFlags(config, FLAGS), measured)
  })
