import t, { type Test } from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import type { EventLog } from '../../src/events/log.ts'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { logoutToken, sendLogout } from './logout-token.ts'
import { bearer, everyWay, logIn, OIDC, oidcSettings } from './people.ts'

type Recorded = {
  readonly type: string
  readonly stream: string
  readonly data: Readonly<Record<string, unknown>>
}

const OF_LOGOUT = ['ProviderLogoutReceived', 'TokenRevoked', 'ProviderLogoutCompleted']
/** Interval of the job `provider-logouts`, in ms. */
const JOB_MS = 60_000
const LATER_MS = 1_000

/** A log that refuses all appends after the first `left` appends of a logout. */
const failing = () => {
  const state = { left: Number.POSITIVE_INFINITY, appended: [] as string[] }
  const logOf = (log: EventLog): EventLog => ({
    ...log,
    append: async (stream, events, expected) => {
      const [{ type } = { type: '' }] = events
      const counts = OF_LOGOUT.includes(type)
      if (state.left <= 0) throw new Refusal('backend_unavailable')
      if (counts) state.left--
      const appended = await log.append(stream, events, expected)
      if (counts) state.appended.push(type)
      return appended
    },
  })
  return { state, logOf }
}

const world = async (t: Test) => {
  const clock = virtualClock()
  const { state, logOf } = failing()
  const other = await lyingProvider(t)
  const { liar, service } = await everyWay(
    t,
    { 'storage.type': 'embedded', ...oidcSettings('other', other.url, lyingClient) },
    { clock, logOf },
  )
  for (const each of [liar, other]) each.now = () => clock.now().getTime()
  const signIn = async (sub: string, sid: string) => {
    liar.lies = { claims: { sub, sid } }
    const { token, authentication } = await logIn(service, OIDC)
    return { token, id: authentication.id }
  }
  const signInElsewhere = async (sub: string) => {
    other.lies = { claims: { sub } }
    return (await logIn(service, '/auth/v1/method/oidc/other')).token
  }
  const tokenOfAlice = () => logoutToken(liar, { sid: 's1' })
  const send = (token: string) => sendLogout(service, token)
  const status = async (token: string) =>
    (await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status
  const recorded = async (type: string) =>
    (await service.request<{ events: readonly Recorded[] }>('GET', `/audit/v1/events?type=${type}&limit=1000`)).json
      .events
  const completed = (logouts: number) =>
    eventually(
      async () => (await recorded('ProviderLogoutCompleted')).length === logouts,
      `${logouts} finished logouts`,
    )
  return { clock, state, service, signIn, signInElsewhere, tokenOfAlice, send, status, recorded, completed }
}

await t.test('a logout that ends after any of its appends is finished by the job, once', async (t) => {
  const { clock, state, service, signIn, signInElsewhere, tokenOfAlice, send, status, recorded, completed } =
    await world(t)
  const others = [(await signIn('bob', 's1')).token, await signInElsewhere('alice')]
  const OTHERS = [200, 200]
  const SESSIONS = 3
  /** The first event, the end of each session, the last event. */
  const APPENDS = SESSIONS + 2
  for (let n = 0; n <= APPENDS; n++) {
    const sessions = [await signIn('alice', 's1'), await signIn('alice', 's1'), await signIn('alice', 's2')]
    const token = await tokenOfAlice()
    Object.assign(state, { left: n, appended: [] })
    const answer = await send(token)
    t.match(answer, n < APPENDS ? { status: 503, json: { error: 'temporarily_unavailable' } } : { status: 200 }, `${n}`)
    await eventually(() => state.appended.length === n, `${n} appends of the logout`)
    await service.reopen(async () => void (state.left = Number.POSITIVE_INFINITY))

    // Nothing of a token whose first event is missing was accepted, so the provider may send it again.
    if (n === 0) t.equal((await send(token)).status, 200)
    // The job runs at the start of the service.
    await walking([clock], () => completed(n + 1))
    t.strictSame(state.appended.toSorted(), [...OF_LOGOUT, 'TokenRevoked', 'TokenRevoked'].toSorted())
    t.match(await send(token), { status: 400, json: { error_description: 'logout token was used before' } })
    await clock.advance(2 * JOB_MS)
    t.equal(state.appended.length, APPENDS, 'later runs of the job append nothing')
    t.strictSame(await Promise.all(sessions.map((each) => status(each.token))), [401, 401, 401])
    t.strictSame(await Promise.all(others.map(status)), OTHERS)
    const ended = (await recorded('TokenRevoked')).map(({ stream }) => stream)
    for (const { id } of sessions) t.equal(ended.filter((stream) => stream === `token-${id}`).length, 1)
    t.equal(ended.length, (n + 1) * SESSIONS, 'no other session ended')
  }
  t.equal((await recorded('ProviderLogoutReceived')).length, APPENDS + 1)
})

await t.test('a logout that is finished late leaves the sessions that began after it', async (t) => {
  const { clock, state, signIn, tokenOfAlice, send, status, completed } = await world(t)
  const before = await signIn('alice', 's1')
  const token = await tokenOfAlice()
  state.left = 1
  t.equal((await send(token)).status, 503)
  state.left = Number.POSITIVE_INFINITY
  await clock.advance(LATER_MS)
  const later = await signIn('alice', 's3')
  t.strictSame([await status(before.token), await status(later.token)], [200, 200])
  await clock.advance(JOB_MS - LATER_MS)
  await walking([clock], () => completed(1))
  t.strictSame([await status(before.token), await status(later.token)], [401, 200])
})
