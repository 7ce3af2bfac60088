import type { Owner } from '../test/adapters/servers.ts'
import { linkTo } from '../test/stand-ins/proxy.ts'
import { type Asking, asking, each, type Issued, issued, statuses, until } from './asking.ts'
import { progress, type Row, told } from './measure.ts'
import { offFirstCore, type Server } from './processes.ts'
import { having, instances, type Stack, stack } from './stack.ts'

const FIRST_USES = 1500
/** So long a holder that is cut off may keep the lease, and as long again until the bench gives up. */
const LEASE_MS = 5000

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

const measured = ({ settings, what }: Stack, owner: Owner): Promise<readonly Row[]> =>
  instances(settings, async ({ start, stop }) => {
    const { link, url } = await linkTo(owner, settings['eventstore.url']!)
    const linked = await start('--tokens=2', `--set=eventstore.url=${url}`)
    const [token] = linked.tokens
    const one = await start(`--token=${token}`)
    const left = await lease(linked, one, () => link.set('blackhole'), what)
    await link.set('pass')
    await stop(linked)
    const asked = asking(one)
    progress(`S6: ${FIRST_USES} tokens are issued`)
    const tokens = await issued(asked, token!, FIRST_USES)
    asked.end()
    return [await firstUses(await start(`--token=${token}`), tokens, what), left]
  })

/** S6 and S7: how instances on the server stack bear a burst of first uses, and the loss of the one that sees to the read models. */
export const run = () =>
  offFirstCore(() =>
    having('S6, S7', stack, (servers, owner) => {
      progress(`S6, S7: instances on ${servers.what}`)
      return measured(servers, owner)
    }),
  )
