import t from 'tap'
import { bearer, type Issued } from '../http/people.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

/** Interval of cleanups, in ms. */
const INTERVAL = 50
type List = {
  readonly authentications: readonly { readonly id: string; readonly metadata: Readonly<Record<string, string>> }[]
}

await t.test('the first start creates initial_bootstrap_token and logs it as client_token', async (t) => {
  const service = await startService(t, { 'authentication.methods.token.bootstrap.token': undefined })
  const shown = (await service.logged()).split('\n').flatMap((line) => /"client_token":"([^"]+)"/.exec(line)?.[1] ?? [])
  t.equal(shown.length, 1)
  const [token = ''] = shown
  const { status, json } = await service.request<Issued['authentication']>(
    'GET',
    '/auth/v1/self',
    undefined,
    bearer(token),
  )
  t.equal(status, 200)
  t.equal(json.metadata['io.service.auth.token.name'], 'initial_bootstrap_token')
  t.notOk('expiresAt' in json, 'it has no expiration unless configured')

  t.equal((await service.request('DELETE', `/auth/v1/tokens/${json.id}`, undefined, bearer(token))).status, 200)
  await service.reopen()
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401)
  t.equal(
    (await service.logged()).match(/client_token/g)?.length,
    1,
    'deleted after bootstrapping, it does not come back',
  )
})

await t.test('bootstrap.token sets the value of the first token, and bootstrap.expiration its expiry', async (t) => {
  const { now } = virtualClock(new Date().toISOString())
  const service = await startService(
    t,
    {
      'authentication.methods.token.bootstrap.expiration': '1h',
      'authentication.methods.token.bootstrap.metadata': '{"team":"blue"}',
    },
    { now },
  )
  const { json } = await service.request<Issued['authentication']>('GET', '/auth/v1/self')
  const life = Date.parse(json.expiresAt!) - Date.parse(json.createdAt)
  t.equal(life, 3_600_000)
  t.equal(json.metadata['team'], 'blue')
  t.notMatch(await service.logged(), /client_token|the-bootstrap-token/, 'a configured value is never logged')
})

await t.test('an expired token stops working and is deleted later', async (t) => {
  const cleanup = 'authentication.methods.token.cleanup'
  const settings = { [`${cleanup}.interval`]: `${INTERVAL}ms`, [`${cleanup}.grace_period`]: '30m' }
  const clock = virtualClock()
  const service = await startService(t, settings, { clock })
  const made = clock.now().getTime()
  const make = (name: string, life: number) =>
    service.request<Issued>('POST', '/auth/v1/method/token', {
      name,
      expiresAt: new Date(made + life).toISOString(),
    })
  const { json } = await make('short', 3_600_000)
  const { json: marker } = await make('marker', 1_800_000)
  const self = async () => (await service.request('GET', '/auth/v1/self', undefined, bearer(json.clientToken))).status
  const listed = async (status: string, { authentication }: Issued = json) => {
    const { json: page } = await service.request<List>('GET', `/auth/v1/tokens?status=${status}`)
    return page.authentications.some(({ id }) => id === authentication.id)
  }
  const cleanedUp = (which: Issued) => async () => {
    await clock.advance(INTERVAL)
    return listed('DELETED', which)
  }
  t.equal(await self(), 200)
  clock.jump(3_600_000)
  t.equal(await self(), 401)
  await eventually(cleanedUp(marker), 'the marker to be cleaned up, whose grace period is over')
  t.ok(await listed('EXPIRED'), 'not before the grace period is over')
  t.notOk(await listed('DELETED'))
  clock.jump(1_800_000)
  await eventually(cleanedUp(json), 'the token to be cleaned up')
  t.notOk(await listed('EXPIRED'))
  t.match((await service.request('GET', '/metrics')).text, /rollcall_cleanup_deleted_total\{method="token"\} 2\n/)
})

await t.test('a token expires to the millisecond, and the cleanup deletes it after the grace period', async (t) => {
  const clock = virtualClock()
  let time = clock.now().getTime()
  const grace = 60_000
  const cleanup = 'authentication.methods.token.cleanup'
  const settings = { [`${cleanup}.grace_period`]: '1m', [`${cleanup}.interval`]: `${INTERVAL}ms` }
  const service = await startService(t, settings, { clock: { ...clock, now: () => new Date(time) } })
  const expiry = time + 1_000
  const expiresAt = new Date(expiry).toISOString()
  const { json } = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'short', expiresAt })
  const { id } = json.authentication
  const { json: marker } = await service.request<Issued>('POST', '/auth/v1/method/token', {
    name: 'marker',
    expiresAt: new Date(expiry - 1).toISOString(),
  })
  const self = async () => (await service.request('GET', '/auth/v1/self', undefined, bearer(json.clientToken))).status
  const shown = () => service.request<Issued['authentication']>('GET', `/auth/v1/tokens/${id}`)
  time = expiry - 1
  t.equal(await self(), 200)
  t.equal((await shown()).json.status, 'ACTIVE')
  time = expiry
  t.equal(await self(), 401, 'at the instant')
  t.equal((await shown()).json.status, 'EXPIRED')

  /** Sets the time and waits for a cleanup, visible by the token that it deletes. */
  const cleanedUp = async (at: number, gone: string) => {
    time = at
    await service.reopen()
    await eventually(async () => {
      await clock.advance(INTERVAL)
      return (await service.request('GET', `/auth/v1/tokens/${gone}`)).status === 404
    }, 'a cleanup to have run')
  }
  time = expiry
  await service.reopen()
  t.equal((await shown()).json.status, 'EXPIRED', 'listed still')
  t.equal(await self(), 401, 'after a restart too')
  await cleanedUp(expiry + grace, marker.authentication.id)
  t.match(await shown(), { status: 200, json: { status: 'EXPIRED' } }, 'in the last millisecond of the grace period')
  await cleanedUp(expiry + grace + 1, id)
  const { json: deleted } = await service.request<List>('GET', '/auth/v1/tokens?status=DELETED')
  t.ok(deleted.authentications.some((one) => one.id === id))
  time = expiry - 500
  t.equal(await self(), 401, 'a clock that goes back brings no deleted token back')
  await service.reopen()
  t.equal(await self(), 401)
})
