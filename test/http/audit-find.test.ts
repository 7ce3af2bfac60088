import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { mint } from '../../src/auth/client-token.ts'
import type { HistoryEvents } from '../../src/contract/history/events.ts'
import type { SubjectsFound, TokenFound } from '../../src/contract/history/searches.ts'
import { type Headers, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { eventsOf } from './events-of.ts'
import { writeForeign } from './foreign.ts'
import { bearer, CODEHOST, EXCHANGE, everyWay, type Issued, logIn, OIDC, open, refusalOf } from './people.ts'
import { destroyKeys, erasePeople, loseKeys } from './subjects.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const findBy = ({ request }: Started, hash: unknown, headers: Headers = {}) =>
  request<TokenFound>('POST', '/audit/v1/tokens/find', { sha256: hash }, headers)
const find = async (service: Started, token: string) => (await findBy(service, sha256(token))).json
const countOf = async ({ request }: Started, id: string) =>
  (await request<HistoryEvents>('GET', `/audit/v1/events?tokenId=${id}&count=true`)).json.count!.value
const issue = async ({ request }: Started, body: object) =>
  (await request<Issued>('POST', '/auth/v1/method/token', body)).json

await t.test('tokens of every login method are found by the SHA-256 of their text', async (t) => {
  const { service, cluster } = await everyWay(t)
  const made = await issue(service, { name: 'ci' })
  const loggedIn = await logIn(service, OIDC)
  const exchanged = (
    await service.request<Issued>('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)
  ).json
  const tokens = [
    [made.clientToken, made.authentication.id],
    [loggedIn.token, loggedIn.authentication.id],
    [exchanged.clientToken, exchanged.authentication.id],
  ] as const
  for (const [token, id] of tokens) {
    const found = await find(service, token)
    t.equal(found.authentication?.id, id)
    const own = await service.request('GET', `/auth/v1/tokens/${id}`)
    t.strictSame(found.authentication, own.json, 'the record as its own GET shows it')
    t.equal(found.events, await countOf(service, id))
    t.notOk('notSearchable' in found)
  }
  t.match(await find(service, service.token), { found: true, authentication: { method: 'METHOD_TOKEN' } })
  t.equal((await findBy(service, sha256(made.clientToken).toUpperCase())).json.found, true)
  t.strictSame(await find(service, mint('token')), { found: false, notSearchable: 0 })
})

await t.test('tokens that were revoked, have expired or were removed are found too', async (t) => {
  const clock = virtualClock()
  const cleanup = 'authentication.methods.token.cleanup'
  const settings = { [`${cleanup}.interval`]: '1s', [`${cleanup}.grace_period`]: '1m' }
  const service = await startService(t, settings, { clock })
  const inMs = (ms: number) => new Date(clock.now().getTime() + ms).toISOString()
  const revoked = await issue(service, { name: 'revoked' })
  const removed = await issue(service, { name: 'removed', expiresAt: inMs(30_000) })
  await service.request('DELETE', `/auth/v1/tokens/${revoked.authentication.id}`)
  // Jump past the expiry and the grace period of the token, but less than a detected clock jump.
  clock.jump(120_000)
  await eventually(async () => {
    await clock.advance(1_000)
    return (await eventsOf(service.directory, ({ type }) => type === 'TokenExpired')).length === 1
  }, 'the cleanup')
  const expired = await issue(service, { name: 'expired', expiresAt: inMs(1_000) })
  await clock.advance(2_000)
  for (const [token, status, events] of [
    [revoked, 'DELETED', 2],
    [removed, 'DELETED', 2],
    [expired, 'EXPIRED', 1],
  ] as const) {
    const { id } = token.authentication
    t.match(await find(service, token.clientToken), { found: true, events, authentication: { id, status } })
  }
  await service.reopen()
  t.match(await find(service, removed.clientToken), { found: true, events: 2 }, 'also after a restart')
})

await t.test('the search by SHA-256 reports the number of tokens that it cannot find', async (t) => {
  const service = await startService(t)
  const issued = (fingerprint: string | undefined, data: object = {}) => {
    const id = randomUUID()
    const token = { id, digest: `00000000.${id}`, fingerprint, method: 'token', issuedAt: '2026-01-01T00:00:00.000Z' }
    const whole = { ...token, attributes: {}, metadata: {}, ...data }
    return { stream: `token-${id}`, type: 'TokenIssued', data: JSON.stringify(whole) }
  }
  await service.reopen(() =>
    writeForeign(
      service.directory,
      issued(undefined),
      issued(undefined, { expiresAt: '2026-01-02T00:00:00.000Z' }),
      issued(`00000000.2.${'A'.repeat(43)}`),
      issued(`zzzzzzzz.2.${'z'.repeat(43)}`),
      { ...issued(undefined), data: '{}' },
    ),
  )
  t.strictSame(await find(service, mint('token')), { found: false, notSearchable: 5 })
  t.match(await find(service, service.token), { found: true })
})

await t.test('the search for tokens refuses other values, and callers without the right audit.read', async (t) => {
  const service = await startService(t)
  for (const hash of ['x', 'a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}g`])
    t.match(refusalOf(await findBy(service, hash)), {
      status: 400,
      message: 'invalid field sha256: must be 64 hexadecimal digits',
    })
  for (const hash of [undefined, ''])
    t.match(refusalOf(await findBy(service, hash)), { message: 'invalid field sha256: must not be empty' })
  const reader = await issue(service, { name: 'a', role: 'auditor' })
  const editor = await issue(service, { name: 'e', role: 'editor' })
  const key = { 'idempotency-key': 'k' }
  const hash = sha256(reader.clientToken)
  for (let n = 0; n < 2; n++) {
    const { headers, json } = await findBy(service, hash, { ...bearer(reader.clientToken), ...key })
    t.equal(headers['cache-control'], 'no-store')
    t.match(json, { found: true, events: 1 })
    t.notOk('idempotency-replayed' in headers)
  }
  t.match(refusalOf(await findBy(service, hash, bearer(editor.clientToken))), { status: 403, reason: 'right_missing' })
  await service.close()
  const reads = await eventsOf(service.directory, ({ type }) => type === 'HistoryRead')
  const own = reads.filter(({ meta }) => meta.actor.id === reader.authentication.id)
  t.match(own, [{ data: { requests: 2, routes: { '/audit/v1/tokens/find': 2 } } }], 'the readings are recorded')
})

const subjectsOf = async ({ request }: Started, method: string, identity: string, provider?: string) =>
  (await request<SubjectsFound>('POST', '/audit/v1/subjects/find', { method, identity, provider })).json.subjects

await t.test('the search for a person returns all of their tokens and events', async (t) => {
  const { service, host } = await everyWay(t)
  const [one, two] = [await logIn(service, OIDC), await logIn(service, OIDC)]
  await service.request('DELETE', `/auth/v1/tokens/${one.authentication.id}`)
  const [found, ...others] = await subjectsOf(service, 'METHOD_OIDC', 'alice')
  t.strictSame(others, [])
  t.match(found, { status: 'open', tokens: 2 })
  const { subject, events, first, last } = found!
  const all = await service.request<HistoryEvents>('GET', `/audit/v1/events?subject=${subject}&count=true`)
  t.equal(all.json.count!.value, events)
  t.strictSame([all.json.events[0]!.time, all.json.events.at(-1)!.time], [first, last])
  t.strictSame(
    all.json.events.flatMap(({ type, data }) => (type === 'TokenIssued' ? [data['id']] : [])),
    [one, two].map(({ authentication }) => authentication.id),
  )
  t.strictSame(await subjectsOf(service, 'METHOD_OIDC', 'alice', 'main'), [found])
  t.strictSame(await subjectsOf(service, 'METHOD_OIDC', 'alice', 'other'), [])
  t.strictSame(await subjectsOf(service, 'METHOD_OIDC', 'nobody'), [])
  t.strictSame(await subjectsOf(service, 'METHOD_TOKEN', 'initial_bootstrap_token'), [])
  await logIn(service, CODEHOST)
  t.match(await subjectsOf(service, 'METHOD_CODEHOST', String(host.user.id)), [
    { status: 'open', tokens: 1, events: 2 },
  ])
  for (const [body, message] of [
    [{ identity: 'alice' }, 'invalid field method: must not be empty'],
    [{ method: 'METHOD_OIDC' }, 'invalid field identity: must not be empty'],
    [
      { method: 'METHOD_CODEHOST', identity: 'a', provider: 'b' },
      'invalid field provider: only METHOD_OIDC has providers',
    ],
  ] as const)
    t.match(refusalOf(await service.request('POST', '/audit/v1/subjects/find', body)), { status: 400, message })
  await service.close()
  const reads = await eventsOf(service.directory, ({ type }) => type === 'HistoryRead')
  t.match(reads.at(-1)!.data['routes'], { '/audit/v1/subjects/find': 6 }, 'the readings are recorded')
})

await t.test('the search for a person returns whether their personal data can be decrypted', async (t) => {
  const { service } = await everyWay(t)
  await logIn(service, OIDC)
  const status = async () => (await subjectsOf(service, 'METHOD_OIDC', 'alice')).map((found) => found.status)
  t.strictSame(await status(), ['open'])
  await service.reopen(() => loseKeys(service))
  t.strictSame(await status(), ['lost'])
  await logIn(service, OIDC)
  t.strictSame(await status(), ['open'], 'a new login has a key again')
  await service.reopen(() => destroyKeys(service))
  t.strictSame(await status(), ['lost'], 'the log has no erasure')
  await erasePeople(service)
  t.strictSame(await status(), ['erased'])
  await service.reopen(() => loseKeys(service))
  t.strictSame(await status(), ['erased'], 'also without the tombstone')
})
