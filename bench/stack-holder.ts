import { setTimeout as sleep } from 'node:timers/promises'
import { asking, type Issued, issued, until, watching } from './asking.ts'
import { progress, type Row } from './measure.ts'
import { offFirstCore, type Server } from './processes.ts'
import {
  count,
  cpuSince,
  honoured,
  REVOCATIONS,
  ready,
  SETTLED_MS,
  said,
  secondsOf,
  spent,
  untilRefused,
} from './revocations.ts'
import { having, instances, stack } from './stack.ts'

/** Milliseconds that lists may be behind. */
const LISTED_MS = 60_000

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

/** S9: what it takes to end a large holder, on a stack that has no other tokens. */
export const run = () =>
  offFirstCore(() =>
    having('S9', stack, ({ settings, what }) =>
      instances(settings, async ({ start }) => {
        progress(`S9: ${REVOCATIONS} tokens of one holder on ${what}`)
        const one = await start('--tokens=1')
        const [token] = one.tokens
        const asked = asking(one)
        const tokens = await issued(asked, token!, REVOCATIONS, 'at once')
        asked.end()
        const others = [await start(`--token=${token}`), await start(`--token=${token}`)]
        return [said(await atOnce([one, ...others], tokens, 'at once', what))]
      }),
    ),
  )
