import t from 'tap'
import { type Headers, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { bearer, open, refusalOf } from './people.ts'
import { advanceLimits } from './rate-minutes.ts'

const LIMIT = 300

await t.test('an address that sent 300 wrong credentials in a minute gets 429 for further wrong ones', async (t) => {
  const clock = virtualClock()
  const { request, token } = await startService(t, { 'server.trust_proxy': '127.0.0.1' }, { clock })
  const from = (address: string, credential: Headers) =>
    request('GET', '/auth/v1/self', undefined, { ...credential, 'x-forwarded-for': address })
  const cookie = (value: string) => ({ ...open, cookie: `service_client_token=${value}` })
  const wrong = [bearer('nobody'), { authorization: 'Basic eA==' }, cookie('nobody')]
  for (let n = 0; n < LIMIT; n++) {
    const answer = await from('192.0.2.1', wrong[n % wrong.length]!)
    if (answer.status !== 401) t.fail(`failure ${n + 1} answered ${answer.status}`)
  }
  for (const credential of wrong) {
    const answer = await from('192.0.2.1', credential)
    t.strictSame(refusalOf(answer), { status: 429, code: 8, reason: 'rate_limited', message: 'too many requests' })
    t.equal(answer.headers['retry-after'], '60')
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  t.equal((await from('192.0.2.1', bearer(token))).status, 200)
  t.equal((await from('192.0.2.1', cookie(token))).status, 200)
  t.equal((await from('192.0.2.1', open)).status, 401, 'nothing was presented, so nothing has failed')
  t.equal((await from('192.0.2.2', bearer('nobody'))).status, 401, 'another address')
  t.equal(
    (await request('GET', '/livez', undefined, { ...bearer('nobody'), 'x-forwarded-for': '192.0.2.1' })).status,
    200,
  )
  await advanceLimits(clock, 60_000 - (clock.now().getTime() % 60_000) - 1)
  const last = await from('192.0.2.1', bearer('nobody'))
  t.match(last, { status: 429, headers: { 'retry-after': '1' } }, 'until the last millisecond of the minute')
  await clock.advance(1)
  t.equal((await from('192.0.2.1', bearer('nobody'))).status, 401, 'and no longer')
})

await t.test('without rate limits every wrong credential gets 401', async (t) => {
  const { request } = await startService(t, { 'rate_limit.enabled': 'false' })
  const answers = await Promise.all(
    Array.from({ length: LIMIT + 5 }, () => request('GET', '/auth/v1/self', undefined, bearer('nobody'))),
  )
  t.ok(answers.every(({ status }) => status === 401))
})
