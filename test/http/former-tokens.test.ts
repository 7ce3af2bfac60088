import t from 'tap'
import { mint, plausible } from '../../src/auth/client-token.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import { formerTokens } from '../../src/http/auth/former-tokens.ts'
import { memoryLog } from '../memory-log.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { eventsOf } from './events-of.ts'
import { bearer, type Issued, open } from './people.ts'

const INTERVAL = 50
const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const ID = '5d1c3a70-8f2e-4b6d-9a10-000000000001'

/** Lookups of a service whose log has one revoked token; `shown`: id that the view returns. */
const world = async (shown: string | undefined = ID) => {
  const clock = virtualClock()
  const log = memoryLog()
  const { execute } = executor(log, enveloper(clear, 'test', clock.now), { clock, format: () => FORMAT })
  const secret = mint('token')
  const digest = (text: string) => `k.${text}`
  const issued = {
    id: ID,
    digest: digest(secret),
    method: 'token',
    issuedAt: '',
    attributes: {},
    metadata: {},
  } as const
  await execute(token, ID, 'IssueToken', issued, { actor: { kind: 'system' } })
  await execute(token, ID, 'RevokeToken', { id: ID }, { actor: { kind: 'system' } })
  let [searches, isDown] = [0, false]
  let answered = Promise.resolve()
  const errors: unknown[] = []
  const list = async () => {
    searches++
    if (isDown) throw new Error('away')
    await answered
    return { rows: shown === undefined ? [] : [{ doc: { id: shown } }], total: 1 }
  }
  const onError = (error: unknown) => void errors.push(error)
  const { idOf } = formerTokens({
    idBefore: () => undefined,
    digest,
    plausible,
    log,
    views: { list } as never,
    clock,
    onError,
  })
  return {
    idOf,
    secret,
    clock,
    errors,
    searches: () => searches,
    fail: () => void (isDown = true),
    hold: (until: Promise<void>) => void (answered = until),
  }
}

await t.test('a revoked token of a refused request is found and cached', async (t) => {
  const { idOf, secret, searches } = await world()
  for (let n = 0; n < 20; n++) t.equal(await idOf(secret), ID)
  t.equal(searches(), 1)
})

await t.test('whether a token was revoked is decided by its events, not by its row in the read model', async (t) => {
  for (const shown of [undefined, '5d1c3a70-8f2e-4b6d-9a10-000000000002'])
    t.equal(await (await world(shown)).idOf((await world()).secret), undefined)
  const { idOf } = await world()
  t.equal(await idOf(mint('token')), undefined, 'the token of the stream has another digest')
})

await t.test('at most ten former tokens a second are looked up, and only texts that can be tokens', async (t) => {
  const { idOf, secret, searches, clock } = await world()
  t.equal(await idOf('with space'), undefined)
  t.equal(searches(), 0)
  for (let n = 0; n < 30; n++) await idOf(mint('token'))
  t.equal(searches(), 10)
  t.equal(await idOf(secret), undefined)
  await clock.advance(1_000)
  t.equal(await idOf(secret), ID)
  t.equal(searches(), 11)
})

await t.test('at most ten lookups of former tokens run at once', async (t) => {
  const { idOf, searches, clock, hold } = await world()
  let release = (): void => undefined
  hold(new Promise((resolve) => (release = resolve)))
  const all = []
  for (let n = 0; n < 25; n++) {
    all.push(idOf(mint('token')))
    if (n % 5 === 4) await clock.advance(1_000)
  }
  t.equal(searches(), 10)
  release()
  await Promise.all(all)
  await idOf(mint('token'))
  t.equal(searches(), 11)
})

await t.test('a lookup of a former token that fails is reported and finds nothing', async (t) => {
  const { idOf, secret, errors, fail } = await world()
  fail()
  t.equal(await idOf(secret), undefined)
  t.match(errors, [{ message: 'away' }])
})

await t.test('the event log names the revoked, expired or removed token of a refused request', async (t) => {
  const cleanup = 'authentication.methods.token.cleanup'
  const settings = { [`${cleanup}.interval`]: `${INTERVAL}ms`, [`${cleanup}.grace_period`]: '30m' }
  const clock = virtualClock()
  const service = await startService(t, settings, { clock })
  const { request } = service
  const make = async (life?: number) => {
    const expiresAt = life === undefined ? undefined : new Date(clock.now().getTime() + life).toISOString()
    return (await request<Issued>('POST', '/auth/v1/method/token', { name: 'n', expiresAt })).json
  }
  const [revoked, removed, expired] = [await make(), await make(1_800_000), await make(3_600_000)]
  const unknown = mint('token')
  t.equal((await request('DELETE', `/auth/v1/tokens/${revoked.authentication.id}`)).status, 200)
  clock.jump(3_600_000)
  await eventually(async () => {
    await clock.advance(INTERVAL)
    const events = await eventsOf(service.directory, ({ type }) => type === 'TokenExpired')
    return events.some(({ data }) => data['id'] === removed.authentication.id)
  }, 'the token to be cleaned up')

  const of = (secret: string) => request('GET', '/auth/v1/self', undefined, bearer(secret))
  const answers = []
  for (const secret of [unknown, revoked.clientToken, removed.clientToken, expired.clientToken, revoked.clientToken])
    answers.push(await of(secret))
  const withoutId = (text: string) => text.replace(/"requestId":"[^"]+"/, '')
  for (const { status, text } of answers) {
    t.equal(status, 401)
    t.equal(withoutId(text), withoutId(answers[0]!.text))
  }
  const cookie = `service_client_token=${expired.clientToken}`
  t.equal((await request('GET', '/auth/v1/self', undefined, { ...open, cookie })).status, 401)
  const refused = () => eventsOf(service.directory, ({ type }) => type === 'AuthenticationRefused')
  await eventually(async () => {
    await clock.advance(1_000)
    return (await refused()).length >= 3
  }, 'the refusals to be recorded')
  await service.close()
  const all = await refused()
  t.strictSame(
    new Set(all.map(({ data }) => data['tokenId'])),
    new Set([revoked, removed, expired].map(({ authentication }) => authentication.id)),
  )
  t.equal(all.length, 3, 'a second refusal of a token in a minute is counted')
  for (const { data } of all) t.match(data, { reason: 'credential_invalid', route: '/auth/v1/self' })
  const summaries = await eventsOf(service.directory, ({ type }) => type === 'RefusalsSummarised')
  t.equal(
    summaries.reduce((sum, { data }) => sum + (data['byReason'] as Record<string, number>)['credential_invalid']!, 0),
    6,
    'each refusal is counted once',
  )
})
