import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { logoutToken, sendLogout } from '../http/logout-token.ts'
import { bearer, logIn, OIDC, oidcSettings, PUBLIC } from '../http/people.ts'
import { type Started, startBeside, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { walking } from '../walking-clock.ts'
import { controlling, startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
const needs = { eventstore: 'lets one append overtake another' }
type Events = { readonly events: readonly { readonly stream: string }[] }

/** Two instances, and sessions of a person that began on both. */
const world = async (t: Test, own: Readonly<Record<string, string>>) => {
  const liar = await lyingProvider(t)
  const settings = {
    ...own,
    'server.public_url': PUBLIC,
    'rate_limit.enabled': 'false',
    ...oidcSettings('main', liar.url, lyingClient),
  }
  const clocks = [virtualClock(), virtualClock()] as const
  liar.now = () => clocks[0].now().getTime()
  const a = await startService(t, settings, { clock: clocks[0] })
  const b = await startBeside(clocks, t, settings, { clock: clocks[1] })
  const sub = randomUUID()
  const signIn = async (service: Started) => {
    liar.lies = { claims: { sub } }
    const { token, authentication } = await logIn(service, OIDC)
    return { token, stream: `token-${authentication.id}` }
  }
  const tokenOfPerson = () => logoutToken(liar, { sub })
  const send = async (service: Started, token: string) => (await sendLogout(service, token)).status
  const sessions = await walking(clocks, async () => [await signIn(a), await signIn(b), await signIn(a)])
  /** Expects that each session has ended once, and is refused on both instances. */
  const haveEnded = async () => {
    const { json } = await a.request<Events>('GET', '/audit/v1/events?type=TokenRevoked&limit=1000')
    for (const { token, stream } of sessions) {
      t.equal(json.events.filter((event) => event.stream === stream).length, 1, 'it ended once')
      for (const service of [a, b])
        t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401)
    }
  }
  return { a, b, clocks, tokenOfPerson, send, haveEnded }
}

await t.test('logout tokens at two instances', { skip }, async (t) => {
  // Between the reading and the append of the first instance, the second one does all its work.
  for (const [stream, what, answers] of [
    [/login-/, 'the acceptance', [200, 400]],
    [/token-/, 'the end of a session', [400, 200]],
  ] as const) {
    const same = `one token at both is accepted once: the other one overtakes ${what}`
    await controlling(t, stack!, needs, same, async (t, { eventstore, settings }) => {
      const { a, b, clocks, tokenOfPerson, send, haveEnded } = await world(t, settings)
      const token = await tokenOfPerson()
      const statuses: number[] = []
      eventstore.overtake(stream, async () => void statuses.push(await send(b, token)))
      await walking(clocks, async () => {
        statuses.push(await send(a, token))
        t.strictSame(statuses, answers, 'of the second instance, then of the first')
        await haveEnded()
      })
    })
    const two = `two tokens of a person end all sessions once: the other one overtakes ${what}`
    await controlling(t, stack!, needs, two, async (t, { eventstore, settings }) => {
      const { a, b, clocks, tokenOfPerson, send, haveEnded } = await world(t, settings)
      const [one, other] = [await tokenOfPerson(), await tokenOfPerson()]
      const statuses: number[] = []
      eventstore.overtake(stream, async () => void statuses.push(await send(b, other)))
      await walking(clocks, async () => {
        statuses.push(await send(a, one))
        t.strictSame(statuses, [200, 200])
        await haveEnded()
      })
    })
  }
})
