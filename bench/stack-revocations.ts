import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { enveloper } from '../src/commands/envelope.ts'
import { executor } from '../src/commands/execute.ts'
import { token as decider } from '../src/commands/token.ts'
import { openLogOf } from '../test/cluster/named-servers.ts'
import { AT_ONCE, asking, each, type Issued, issued, statuses, watching } from './asking.ts'
import { median, progress, type Row, told } from './measure.ts'
import { offFirstCore, type Server } from './processes.ts'
import {
  count,
  cpuSince,
  honoured,
  isRefused,
  REVOCATIONS,
  ready,
  SETTLED_MS,
  said,
  spent,
  untilRefused,
} from './revocations.ts'
import { having, instances, type Stack, stack } from './stack.ts'

/** Milliseconds between two that arrive: 4,000 in 5 s. */
const EVERY_MS = 1.25
/** Of so many revocations that arrive one is looked at until every instance refuses its token. */
const LOOKED_AT = 100

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
const writing = async (settings: Stack['settings']) => {
  const log = await openLogOf(settings, [decider.category])
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
  settings: Stack['settings'],
  what: string,
): Promise<Row> => {
  const all = servers.map(asking)
  const isLookedAt = (n: number) => n % LOOKED_AT === LOOKED_AT - 1 || n === tokens.length - 1
  const lookedAt = tokens.filter((_, n) => isLookedAt(n))
  // A token is asked about at its stream once, at its first use.
  for (const asked of all)
    if ((await honoured(asked, lookedAt)) < lookedAt.length) throw new Error('a token that should live is refused')
  const { revoke, close } = await writing(settings)
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
    const arrived = said(await arriving(three, await of('arriving'), settings, what))
    asked.end()
    return [single, arrived]
  })

/** S5 and S8: what revocations cost an instance on the server stack, and how instances bear many that arrive at once. */
export const run = () =>
  offFirstCore(() =>
    having('S5, S8', stack, (servers) => {
      progress(`S5, S8: instances on ${servers.what}`)
      return measured(servers)
    }),
  )
