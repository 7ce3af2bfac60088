import { creation, evaluation, json, perSecond } from './http.ts'
import { rates } from './load.ts'
import { progress, quantile, type Row, told } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'
import { having, type Stack, stack } from './stack.ts'

const FLAGS = 20
const TOKENS = 20
/** The stand-in for MongoDB writes one row after the other: what still waits when a slice ends is in the way of the next. */
const CREATING = 16
const REVOCATIONS = 100
/** No revocation is begun later than this. */
const BUDGET_MS = 10_000
/** What is promised of every revocation, in milliseconds; twice that and the bench has failed. */
const BOUND = 3000

const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))

/** Milliseconds from the 200 of the end of a token on one instance to the first 401 on another (or the same). */
const revocation = async (one: Server, other: Server): Promise<number> => {
  const headers = { ...json, authorization: `Bearer ${one.tokens[0]}` }
  const issued = await fetch(`${one.url}/auth/v1/method/token`, { method: 'POST', headers, body: '{"name":"revoked"}' })
  const { clientToken, authentication } = (await issued.json()) as {
    clientToken: string
    authentication: { id: string }
  }
  const self = async () => {
    const answer = await fetch(`${other.url}/auth/v1/self`, { headers: { authorization: `Bearer ${clientToken}` } })
    await answer.arrayBuffer()
    return answer.status
  }
  const first = await self()
  if (first !== 200) throw new Error(`a new token was answered ${first}`)
  const ended = await fetch(`${one.url}/auth/v1/tokens/${authentication.id}`, {
    method: 'DELETE',
    headers: { authorization: headers.authorization },
  })
  await ended.arrayBuffer()
  if (ended.status !== 200) throw new Error(`a token was not revoked: ${ended.status}`)
  const since = performance.now()
  for (;;) {
    const status = await self()
    const lag = performance.now() - since
    if (status === 401) return lag
    if (lag > 2 * BOUND) throw new Error(`a revoked token was still answered ${status} after ${Math.round(lag)} ms`)
    await sleep(1)
  }
}

const spread = (lags: readonly number[]) => [0.5, 0.99, 1].map((q) => quantile(lags, q).toFixed(1)).join(' / ')

/** S4: revocations between two instances, and on the one of the embedded store, by turns. */
const propagation = async (one: Server, other: Server, embedded: Server, what: string): Promise<Row> => {
  const [between, within]: [number[], number[]] = [[], []]
  for (const end = performance.now() + BUDGET_MS; between.length < REVOCATIONS && performance.now() < end; ) {
    between.push(await revocation(one, other))
    within.push(await revocation(embedded, embedded))
  }
  const name =
    'from the 200 of a revocation to the first 401 on another instance; to the next request of the embedded one (p50 / p99 / max)'
  return told('S4', name, `${spread(between)} ms; ${spread(within)} ms`, `${between.length} of each; ${what}`)
}

const measured = async ({ settings, what }: Stack): Promise<readonly Row[]> => {
  const given = Object.entries(settings).map(([key, value]) => `--set=${key}=${value}`)
  const seeded = [`--flags=${FLAGS}`, `--tokens=${TOKENS}`]
  const started: Server[] = []
  const start = async (...args: readonly string[]) => {
    const server = await startServer('service', ...args)
    started.push(server)
    return server
  }
  try {
    const [one, embedded] = [await start(...seeded, ...given), await start(...seeded)]
    const path = '/evaluate/v1/boolean'
    const asked = await rates({ stack: evaluation(one, path, FLAGS), embedded: evaluation(embedded, path, FLAGS) }, 4)
    const other = await start(...given, `--token=${one.tokens[0]}`)
    const revoked = await propagation(one, other, embedded, what)
    await other.stop()
    const creating = (server: Server) => ({ ...creation(server), connections: CREATING })
    const made = await rates({ stack: creating(one), embedded: creating(embedded) }, 3)
    const ratio = (id: string, name: string, { stack, embedded }: Readonly<Record<'stack' | 'embedded', number>>) =>
      told(
        id,
        `${name} / the same on the embedded store`,
        (stack / embedded).toPrecision(2),
        `${perSecond(stack)} against ${perSecond(embedded)}; ${what}`,
      )
    return [
      ratio('S2', 'token creation on the server stack', made),
      ratio('S3', 'authenticated evaluation on the server stack', asked),
      revoked,
    ]
  } finally {
    await Promise.all(started.map(({ stop }) => stop()))
  }
}

/** S2, S3 and S4: the service on the server stack beside the service on files, each in a process of its own. */
export const run = () =>
  offFirstCore(() =>
    having('S2, S3, S4', stack, (servers) => {
      progress(`S2, S3, S4: the service on ${servers.what}, beside the embedded one`)
      return measured(servers)
    }),
  )
