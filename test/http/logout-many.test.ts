import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { EventLog } from '../../src/events/log.ts'
import { lyingClient } from '../auth/stand-ins/liar.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { bearer, everyWay, logIn, OIDC } from './people.ts'

const TOKENS = 1_000
/** Logout tokens of a round. */
const ROUND = 100
/** Logout tokens that are sent and not answered, and those that the service has in work (decision 0051). */
const [SENT, IN_WORK] = [200, 16]
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** A log that accepts a logout only with a permit. */
const gated = () => {
  const waiting: (() => void)[] = []
  let permits = 0
  const permit = (count: number) => {
    permits += count
    for (; permits > 0 && waiting.length > 0; permits--) waiting.shift()!()
  }
  const logOf = (log: EventLog): EventLog => ({
    ...log,
    append: async (stream, events, expected) => {
      if (events[0]?.type === 'ProviderLogoutReceived')
        if (permits > 0) permits--
        else await new Promise<void>((pass) => waiting.push(pass))
      return log.append(stream, events, expected)
    },
  })
  return { waiting, permit, logOf }
}

await t.test('1,000 logout tokens in a minute are all answered, and other requests between them', async (t) => {
  const clock = virtualClock()
  const { waiting, permit, logOf } = gated()
  const settings = { 'storage.type': 'embedded', 'rate_limit.enabled': 'true' }
  const { liar, service } = await everyWay(t, settings, { clock, logOf })
  liar.now = () => clock.now().getTime()
  const begun = liar.now()
  const flag = { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await service.request('POST', '/api/v1/flags', flag)).status, 200)
  const sessions: string[] = []
  for (let n = 0; n < TOKENS; n += ROUND) {
    liar.lies = { claims: { sub: `person-${n}` } }
    sessions.push((await logIn(service, OIDC)).token)
  }
  const send = async (n: number) => {
    const token = await liar.signed({
      iss: liar.url,
      aud: lyingClient.clientId,
      sub: `person-${n}`,
      iat: Math.floor(liar.now() / 1000),
      jti: randomUUID(),
      events: { [EVENT]: {} },
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: '' }
    return service.request('POST', `${OIDC}/backchannel-logout`, `logout_token=${token}`, headers)
  }
  const statuses: number[] = []
  let next = 0
  const sender = async () => {
    while (next < TOKENS) statuses.push((await send(next++)).status)
  }
  const self = async (token: string) => (await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status
  const evaluate = async () => {
    const question = { namespaceKey: 'default', flagKey: 'f', entityId: 'e', context: {} }
    const { status } = await service.request('POST', '/evaluate/v1/boolean', question)
    return { status, answered: statuses.length }
  }

  const senders = Promise.all(Array.from({ length: SENT }, sender))
  for (let done = 0; done < TOKENS; done += ROUND) {
    const inWork = Math.min(IN_WORK, TOKENS - done)
    await eventually(() => waiting.length === inWork, `${inWork} logouts in work after ${done}`)
    t.strictSame(await evaluate(), { status: 200, answered: done }, `while ${TOKENS - done} wait`)
    t.equal(await self(service.token), 200)
    permit(ROUND)
    const { status, answered } = await evaluate()
    t.equal(status, 200)
    t.ok(answered < done + ROUND, `answered before ${done + ROUND - answered} logouts of the round`)
    await eventually(() => statuses.length === done + ROUND, `${done + ROUND} answers`)
  }
  await senders
  t.strictSame([statuses.length, new Set(statuses)], [TOKENS, new Set([200])])
  t.strictSame(new Set(await Promise.all(sessions.map(self))), new Set([401]))
  t.ok(liar.now() - begun < 60_000, 'within one minute of the limits')
})
