import t from 'tap'
import type { EventLog } from '../../src/events/log.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { logoutToken, sendLogout } from './logout-token.ts'
import { bearer, everyWay, logIn, OIDC } from './people.ts'

const TOKENS = 1_000
/** Logout tokens of a round. */
const ROUND = 100
/** Logout tokens that are sent and not answered. */
const SENT = 200
/** Maximum numbers of logout tokens that the service has in work, and that wait for it (decision 0051). */
const [IN_WORK, WAITING] = [16, 1_000]

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
  const send = async (n: number) => sendLogout(service, await logoutToken(liar, { sub: `person-${n}` }))
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

await t.test('if 1,000 logout tokens wait, the next one is refused, and all others are answered', async (t) => {
  const clock = virtualClock()
  const { waiting, permit, logOf } = gated()
  const { liar, service } = await everyWay(t, { 'storage.type': 'embedded' }, { clock, logOf })
  liar.now = () => clock.now().getTime()
  const answers: { readonly status: number; readonly error: string | undefined }[] = []
  const all = Array.from({ length: IN_WORK + WAITING + 1 }, async (_, n) => {
    const { status, json } = await sendLogout(service, await logoutToken(liar, { sub: `person-${n}` }))
    answers.push({ status, error: json.error })
  })
  await eventually(() => answers.length > 0 && waiting.length === IN_WORK, 'a refusal')
  t.strictSame(answers, [{ status: 503, error: 'temporarily_unavailable' }])
  permit(all.length)
  await Promise.all(all)
  t.strictSame([answers.length, answers.filter(({ status }) => status === 200).length], [all.length, all.length - 1])
})

await t.test('refused logout tokens do not keep a valid one of the same address out', async (t) => {
  const settings = { 'storage.type': 'embedded', 'rate_limit.enabled': 'true' }
  const { liar, service } = await everyWay(t, settings)
  liar.lies = { claims: { sub: 'person' } }
  const { token } = await logIn(service, OIDC)
  const refused: number[] = []
  for (let n = 0; n < 61; n++) refused.push((await sendLogout(service, `not-a-token-${n}`)).status)
  t.strictSame(refused, [...Array.from({ length: 60 }, () => 400), 429])
  t.equal((await sendLogout(service, await logoutToken(liar, { sub: 'person' }))).status, 200)
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401)
  t.equal((await sendLogout(service, 'not-a-token')).status, 429)
})
