import { Agent, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from './processes.ts'

/** Requests on the way at once; the connections are kept. */
export const AT_ONCE = 64
/** The stand-in for MongoDB writes one row after the other. */
const ISSUING = 16
const LOOK_MS = 50

type Answer = { readonly status: number; readonly text: string }

/** Asks a server over kept connections, as many as there are requests under way. */
export const asking = ({ url }: Server) => {
  const agent = new Agent({ keepAlive: true })
  const ask = (
    method: string,
    path: string,
    token: string,
    body?: string,
    others: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    new Promise((answered, failed) => {
      const headers = {
        ...others,
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
export type Asking = ReturnType<typeof asking>

/** Does the work for each, so many at a time; gives the seconds that it took. */
export const each = async <T>(
  all: readonly T[],
  work: (one: T, n: number) => Promise<void>,
  most = AT_ONCE,
): Promise<number> => {
  const began = performance.now()
  const left = all.entries()
  const worker = async () => {
    for (const [n, one] of left) await work(one, n)
  }
  await Promise.all(Array.from({ length: Math.min(most, all.length) }, worker))
  return (performance.now() - began) / 1000
}

/** Does the work and looks at the readiness of servers meanwhile; gives how often one was not ready or refused a credential, of how many looks. */
export const watching = async <T>(
  servers: readonly Asking[],
  token: string,
  work: () => Promise<T>,
): Promise<{ readonly bad: number; readonly looks: number; readonly done: T }> => {
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
  try {
    const [done] = await Promise.all([work().finally(() => over.abort()), watched])
    return { bad, looks, done }
  } finally {
    await watched.catch(() => undefined)
  }
}

/** Milliseconds until something is so; it is asked so often, and no longer than so long. */
export const until = async (isSo: () => Promise<boolean>, most: number, lookMs = LOOK_MS): Promise<number> => {
  const began = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began > most) throw new Error(`not so after ${most} ms`)
    await sleep(lookMs)
  }
  return performance.now() - began
}

export type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }

/** So many tokens of one name, issued by the bootstrap token of a server. */
export const issued = async (
  { ask }: Asking,
  token: string,
  count: number,
  name = 'burst',
): Promise<readonly Issued[]> => {
  const made: Issued[] = []
  const issue = async () => {
    for (let tries = 0; ; tries++) {
      const { status, text } = await ask('POST', '/auth/v1/method/token', token, JSON.stringify({ name }))
      if (status === 200) return void made.push(JSON.parse(text) as Issued)
      // It is not issuing that is measured: what is too much for the servers is asked for again.
      if (status !== 503 || tries > 20) throw new Error(`no token: ${status} ${text}`)
      await sleep(500)
    }
  }
  await each(Array.from({ length: count }), issue, ISSUING)
  return made
}

/** How often there was each status, in the words of a row. */
export const statuses = (counts: ReadonlyMap<number, number>): string =>
  [...counts].map(([status, count]) => `${count} × ${status}`).join(', ')
