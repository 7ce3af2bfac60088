import { Agent, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { linkTo } from '../test/stand-ins/proxy.ts'
import type { Owner } from '../test/adapters/servers.ts'
import { offFirstCore, type Server, startServer } from './load.ts'
import { progress, type Row, told } from './measure.ts'
import { having, type Stack, stack } from './stack.ts'

/** A machine with other work takes its time: `ROLLCALL_BENCH_REVOCATIONS` chooses fewer. */
const REVOCATIONS = Number(process.env['ROLLCALL_BENCH_REVOCATIONS'] ?? 4000)
const FIRST_USES = Math.min(REVOCATIONS, 1500)
/** Requests on the way at once; the connections are kept. */
const AT_ONCE = 64
/** The stand-in for MongoDB writes one row after the other. */
const ISSUING = 16
const LOOK_MS = 50
/** So long a holder that is cut off may keep the lease, and as long again until the bench gives up. */
const LEASE_MS = 5000

type Answer = { readonly status: number; readonly text: string }

/** Asks a server over kept connections, as many as there are requests under way. */
const asking = ({ url }: Server) => {
  const agent = new Agent({ keepAlive: true })
  const ask = (method: string, path: string, token: string, body?: string): Promise<Answer> =>
    new Promise((answered, failed) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      }
      const outgoing = send(url + path, { method, agent, headers }, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', failed)
        incoming.on('end', () => answered({ status: incoming.statusCode!, text: String(Buffer.concat(chunks)) }))
      })
      outgoing.on('error', failed)
      outgoing.end(body)
    })
  return { ask, end: () => agent.destroy() }
}
type Asking = ReturnType<typeof asking>

/** Does the work for each, so many at a time; gives the seconds that it took. */
const each = async <T>(all: readonly T[], work: (one: T) => Promise<void>, most = AT_ONCE): Promise<number> => {
  const began = performance.now()
  const left = all[Symbol.iterator]()
  const worker = async () => {
    for (const one of left) await work(one)
  }
  await Promise.all(Array.from({ length: Math.min(most, all.length) }, worker))
  return (performance.now() - began) / 1000
}

/** Looks at the readiness of servers until it is ended; gives how often one was not ready or refused a credential, of how many looks. */
const watching = (servers: readonly Asking[], token: string) => {
  const over = new AbortController()
  let [bad, looks] = [0, 0]
  const watch = async ({ ask }: Asking) => {
    while (!over.signal.aborted) {
      const asked = await Promise.all([ask('GET', '/readyz', token), ask('GET', '/auth/v1/self', token)])
      looks++
      if (asked.some(({ status }) => status !== 200)) bad++
      await sleep(LOOK_MS)
    }
  }
  const watched = Promise.all(servers.map(watch))
  return async () => {
    over.abort()
    await watched
    return { bad, looks }
  }
}

type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }

/** So many tokens, issued by the bootstrap token of a server. */
const issued = async ({ ask }: Asking, token: string, count: number): Promise<readonly Issued[]> => {
  const made: Issued[] = []
  const issue = async () => {
    for (let tries = 0; ; tries++) {
      const { status, text } = await ask('POST', '/auth/v1/method/token', token, '{"name":"burst"}')
      if (status === 200) return void made.push(JSON.parse(text) as Issued)
      // It is not issuing that is measured: what is too much for the servers is asked for again.
      if (status !== 503 || tries > 20) throw new Error(`no token: ${status} ${text}`)
      await sleep(500)
    }
  }
  await each(Array.from({ length: count }), issue, ISSUING)
  return made
}

const statuses = (counts: ReadonlyMap<number, number>) =>
  [...counts].map(([status, count]) => `${count} × ${status}`).join(', ')

/** S5: a burst of revocations on one instance, and how the others bear it. */
const revocations = async (servers: readonly Server[], tokens: readonly Issued[], what: string): Promise<Row> => {
  const [one, ...others] = servers.map(asking)
  const token = servers[0]!.tokens[0]!
  const cpu = await Promise.all(servers.map((server) => server.cpu()))
  const watched = watching([one!, ...others], token)
  const counts = new Map<number, number>()
  const took = await each(tokens, async ({ authentication: { id } }) => {
    const { status } = await one!.ask('DELETE', `/auth/v1/tokens/${id}`, token)
    counts.set(status, (counts.get(status) ?? 0) + 1)
  })
  await sleep(1000)
  const { bad, looks } = await watched()
  const spent = await Promise.all(servers.map(async (server, n) => ((await server.cpu()) - cpu[n]!) / tokens.length))
  const last = tokens.at(-1)!.clientToken
  const refused = await Promise.all(others.map(async ({ ask }) => (await ask('GET', '/auth/v1/self', last)).status))
  for (const { end } of [one!, ...others]) end()
  const ms = spent.map((seconds) => (seconds * 1000).toFixed(2)).join(' / ')
  return told(
    'S5',
    `${tokens.length.toLocaleString('en')} revocations on one of ${servers.length} instances, ${AT_ONCE} at once; looks at which one was not ready`,
    `${took.toFixed(1)} s; ${bad} of ${looks}`,
    `${statuses(counts)}; ${ms} ms of CPU on each; the last token elsewhere: ${refused.join(', ')}; ${what}`,
  )
}

/** S6: all tokens used at once for the first time on an instance that has just started. */
const firstUses = async (server: Server, tokens: readonly Issued[], what: string): Promise<Row> => {
  const { ask, end } = asking(server)
  const counts = new Map<number, number>()
  const took = await each(
    tokens,
    async ({ clientToken }) => {
      const { status } = await ask('GET', '/auth/v1/self', clientToken)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    },
    tokens.length,
  )
  end()
  const name = `${tokens.length.toLocaleString('en')} first uses at once on an instance that has just started`
  return told('S6', name, `${statuses(counts)}; ${took.toFixed(1)} s`, what)
}

/** The lease as an instance tells of it. The page is made once a second, so this is known late by as much. */
const holds = async ({ ask }: Asking, token: string): Promise<boolean> =>
  /^rollcall_view_lease_held 1$/m.test((await ask('GET', '/metrics', token)).text)

/** Milliseconds until something is so. */
const until = async (isSo: () => Promise<boolean>, most: number): Promise<number> => {
  const began = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began > most) throw new Error(`not so after ${most} ms`)
    await sleep(LOOK_MS)
  }
  return performance.now() - began
}

/** S7: who sees to the read models is cut off from the log; gives it up, and another takes it. */
const lease = async (holder: Server, other: Server, cut: () => Promise<void>, what: string): Promise<Row> => {
  const [one, two] = [asking(holder), asking(other)]
  const token = other.tokens[0]!
  await until(() => holds(one, token), 3 * LEASE_MS)
  await cut()
  const [given, taken] = await Promise.all([
    until(async () => !(await holds(one, token)), 2 * LEASE_MS),
    until(() => holds(two, token), 4 * LEASE_MS),
  ])
  one.end()
  two.end()
  const figure = [given, taken].map((ms) => (ms / 1000).toFixed(1)).join(' s; ')
  return told(
    'S7',
    'a holder of the lease is cut off from the log and gives it up; another has it',
    `${figure} s`,
    what,
  )
}

const measured = async ({ settings, what }: Stack, owner: Owner): Promise<readonly Row[]> => {
  const set = (all: Readonly<Record<string, string>>) =>
    Object.entries({ ...all, 'rate_limit.enabled': 'false' }).map(([key, value]) => `--set=${key}=${value}`)
  const started = new Set<Server>()
  const start = async (...args: readonly string[]): Promise<Server> => {
    const server = await startServer('service', ...args)
    started.add(server)
    return server
  }
  const stop = async (server: Server) => {
    started.delete(server)
    await server.stop()
  }
  const { link, url } = await linkTo(owner, settings['eventstore.url']!)
  try {
    const linked = await start('--tokens=2', ...set({ ...settings, 'eventstore.url': url }))
    const [token] = linked.tokens
    const one = await start(...set(settings), `--token=${token}`)
    const left = await lease(linked, one, () => link.set('blackhole'), what)
    await link.set('pass')
    await stop(linked)
    const other = await start(...set(settings), `--token=${token}`)
    const asked = asking(one)
    progress(`S5, S6: ${REVOCATIONS} tokens are issued`)
    const tokens = await issued(asked, token!, REVOCATIONS)
    asked.end()
    const cold = await start(...set(settings), `--token=${token}`)
    const used = await firstUses(cold, tokens.slice(0, FIRST_USES), what)
    await stop(cold)
    return [await revocations([one, other], tokens, what), used, left]
  } finally {
    await Promise.all([...started].map(stop))
  }
}

/** S5, S6 and S7: how instances on the server stack bear bursts, and the loss of the one that sees to the read models. */
export const run = () =>
  offFirstCore(() =>
    having('S5, S6, S7', stack, (servers, owner) => {
      progress(`S5, S6, S7: instances on ${servers.what}`)
      return measured(servers, owner)
    }),
  )
