import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../src/clock.ts'
import { openEventStore } from '../src/adapters/eventstoredb/open.ts'
import { enveloper } from '../src/commands/envelope.ts'
import { executor } from '../src/commands/execute.ts'
import { token as decider } from '../src/commands/token.ts'
import { AT_ONCE, type Asking, asking, each, issued, type Issued, statuses, until, watching } from './asking.ts'
import { offFirstCore, type Server } from './processes.ts'
import { median, progress, type Row, told } from './measure.ts'
import { having, instances, type Stack, stack } from './stack.ts'

/** A machine with other work takes its time: `ROLLCALL_BENCH_REVOCATIONS` chooses fewer. */
const REVOCATIONS = Number(process.env['ROLLCALL_BENCH_REVOCATIONS'] ?? 4000)
/** Milliseconds between two that arrive: 4,000 in 5 s. */
const EVERY_MS = 1.25
/** Of so many revocations that arrive one is looked at until every instance refuses its token. */
const LOOKED_AT = 100
const REFUSED_MS = 20_000
/** So long lists may be behind, and so long instances are looked at after a burst. */
const LISTED_MS = 600_000
const SETTLED_MS = 2_000

const count = (tokens: readonly unknown[]) => tokens.length.toLocaleString('en')
const secondsOf = (ms: number) => (ms / 1000).toFixed(1)
const spent = async (servers: readonly Server[]) => Promise.all(servers.map((server) => server.measure('cpu')))
/** Milliseconds of CPU on each server, for each of so many, since `before`. */
const cpuSince = async (servers: readonly Server[], before: readonly number[], of: number) =>
  (await spent(servers)).map((seconds, n) => (((seconds - before[n]!) * 1000) / of).toFixed(2)).join(' / ')

/** Asked of memory: 404 where the token is honoured, 401 where it is refused, 503 where that is not known. */
const used = async ({ ask }: Asking, { clientToken }: Issued) =>
  (await ask('GET', '/api/v1/namespaces/default/flags/none', clientToken)).status
const isRefused = async (asked: Asking, token: Issued) => (await used(asked, token)) === 401
const untilRefused = (asked: Asking, token: Issued) =>
  until(() => isRefused(asked, token), REFUSED_MS, 5).catch(() => REFUSED_MS)
/** How many of these tokens an instance honours. */
const honoured = async (asked: Asking, tokens: readonly Issued[]): Promise<number> => {
  let some = 0
  await each(tokens, async (token) => void ((await used(asked, token)) === 404 && some++))
  return some
}
const ready = (bad: number): Pick<Row, 'target' | 'ok'> => ({ target: '0 not ready', ok: bad === 0 })

/** S5: what one instance takes by the route of a single token. */
const oneByOne = async (servers: readonly Server[], tokens: readonly Issued[], what: string): Promise<Row> => {
  const all = servers.map(asking)
  const [one, ...others] = all
  const token = servers[0]!.tokens[0]!
  const before = await spent(servers)
  const counts = new Map<number, number>()
  const { bad, looks, done } = await watching(all, token, async () => {
    const took = await each(tokens, async ({ authentication: { id } }) => {
      const { status } = await one!.ask('DELETE', `/auth/v1/tokens/${id}`, token)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    })
    const ms = await cpuSince(servers, before, tokens.length)
    await sleep(SETTLED_MS)
    return { took, ms }
  })
  const { took, ms } = done
  const last = await Promise.all(others.map((other) => isRefused(other, tokens.at(-1)!)))
  for (const { end } of all) end()
  return told(
    'S5',
    `revocations a second on one of ${servers.length} instances, ${AT_ONCE} at once; looks at which one was not ready`,
    `${Math.round(tokens.length / took)}/s; ${bad} of ${looks}`,
    `${statuses(counts)}; ${ms} ms of CPU on each; the last token elsewhere: ${last.every(Boolean) ? 'refused' : 'honoured'}; ${what}`,
  )
}

/** Writes revocations as an instance would, without being one. */
const writing = async (url: string) => {
  const log = await openEventStore(url, { clock: systemClock, categories: [decider.category], onError: () => {} })
  const unsealed = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
  const { execute } = executor(
    log,
    enveloper(unsealed, 'bench', () => new Date()),
    { clock: systemClock },
  )
  const live = { state: { status: 'live' }, changes: 1n, at: 0n } as const
  return {
    revoke: (id: string) => execute(decider, id, 'RevokeToken', { id }, { actor: { kind: 'system' } }, live),
    close: log.close,
  }
}

/** S8: revocations that arrive at all instances, whoever wrote them, in so many seconds. */
const arriving = async (
  servers: readonly Server[],
  tokens: readonly Issued[],
  url: string,
  what: string,
): Promise<Row> => {
  const all = servers.map(asking)
  const isLookedAt = (n: number) => n % LOOKED_AT === LOOKED_AT - 1 || n === tokens.length - 1
  const lookedAt = tokens.filter((_, n) => isLookedAt(n))
  // A token is asked about at its stream once, at its first use.
  for (const asked of all)
    if ((await honoured(asked, lookedAt)) < lookedAt.length) throw new Error('a token that should live is refused')
  const { revoke, close } = await writing(url)
  const before = await spent(servers)
  const late: Promise<number>[] = []
  const { bad, looks, done } = await watching(all, servers[0]!.tokens[0]!, async () => {
    const began = performance.now()
    const took = await each(tokens, async (token, n) => {
      await sleep(Math.max(0, began + n * EVERY_MS - performance.now()))
      await revoke(token.authentication.id)
      if (isLookedAt(n)) late.push(...all.map((asked) => untilRefused(asked, token)))
    })
    const lateness = await Promise.all(late)
    const ms = await cpuSince(servers, before, tokens.length)
    await sleep(SETTLED_MS)
    return { took, lateness, ms }
  }).finally(() => void close())
  const { took, lateness, ms } = done
  const left = await Promise.all(all.map((asked) => honoured(asked, tokens)))
  for (const { end } of all) end()
  const last = Math.max(...lateness.slice(-servers.length))
  return {
    id: 'S8',
    name: `${count(tokens)} revocations written in ${took.toFixed(1)} s arrive at ${servers.length} instances; looks at which one was not ready; the last token refused everywhere`,
    figure: `${bad} of ${looks}; after ${last.toFixed(0)} ms`,
    note: `of one in ${LOOKED_AT}: p50 ${median(lateness).toFixed(0)} ms, at most ${Math.max(...lateness).toFixed(0)} ms; honoured afterwards: ${left.join(', ')}; ${ms} ms of CPU on each; ${what}`,
    ...ready(bad),
  }
}

/** S9: all tokens of one holder ended by one request. */
const atOnce = async (
  servers: readonly Server[],
  tokens: readonly Issued[],
  holder: string,
  what: string,
): Promise<Row> => {
  const all = servers.map(asking)
  const token = servers[0]!.tokens[0]!
  const before = await spent(servers)
  const body = JSON.stringify({ method: 'METHOD_TOKEN', identity: holder })
  const { ask } = all[0]!
  const isListed = async () => (await ask('GET', '/auth/v1/tokens?limit=1', token)).status === 200
  // What was issued just now has to be in the lists, or nothing is ended yet.
  await until(isListed, LISTED_MS)
  const { bad, looks, done } = await watching(all, token, async () => {
    const began = performance.now()
    const { status, text } = await ask('POST', '/auth/v1/tokens/revoke', token, body)
    const answered = performance.now() - began
    if (status !== 200) throw new Error(`not revoked: ${status} ${text}`)
    const last = tokens.at(-1)!
    const elsewhere = await Promise.all(all.map((asked) => untilRefused(asked, last)))
    const ms = await cpuSince(servers, before, tokens.length)
    const listed = await until(isListed, LISTED_MS)
    await sleep(SETTLED_MS)
    const { revoked } = JSON.parse(text) as { readonly revoked: number }
    return { answered, elsewhere, ms, listed, revoked }
  })
  const { answered, elsewhere, ms, listed, revoked } = done
  const left = await Promise.all(all.map((asked) => honoured(asked, tokens)))
  for (const { end } of all) end()
  return {
    id: 'S9',
    name: `one holder's ${count(tokens)} tokens ended by one request, ${servers.length} instances; until it is answered; looks at which one was not ready`,
    figure: `${secondsOf(answered)} s; ${bad} of ${looks}`,
    note: `${revoked} revoked; the last refused everywhere ${Math.max(...elsewhere).toFixed(0)} ms later; a list ${secondsOf(listed)} s after that; honoured afterwards: ${left.join(', ')}; ${ms} ms of CPU on each; ${what}`,
    ...ready(bad),
  }
}

/** Tells a row as soon as it is there: the whole takes minutes. */
const said = (row: Row): Row => {
  progress(`${row.id}: ${row.name}: ${row.figure} (${row.note})`)
  return row
}

const measured = ({ settings, what }: Stack): Promise<readonly Row[]> =>
  instances(settings, async ({ start }) => {
    const one = await start('--tokens=1')
    const asked = asking(one)
    const [token] = one.tokens
    const other = await start(`--token=${token}`)
    const of = async (holder: string) => {
      progress(`${REVOCATIONS} tokens are issued`)
      return issued(asked, token!, REVOCATIONS, holder)
    }
    const single = said(await oneByOne([one, other], await of('one by one'), what))
    const three = [one, other, await start(`--token=${token}`)]
    const arrived = said(await arriving(three, await of('arriving'), settings['eventstore.url']!, what))
    const together = said(await atOnce(three, await of('at once'), 'at once', what))
    asked.end()
    return [single, arrived, together]
  })

/** S5, S8 and S9: what revocations cost an instance on the server stack, and how instances bear many that arrive at once. */
export const run = () =>
  offFirstCore(() =>
    having('S5, S8, S9', stack, (servers) => {
      progress(`S5, S8, S9: instances on ${servers.what}`)
      return measured(servers)
    }),
  )
