import t from 'tap'
import type { HistoryEvents } from '../../src/contract/history/events.ts'
import type { SubjectErased, SubjectsFound } from '../../src/contract/history/searches.ts'
import { onCluster, onServers } from '../cluster/own.ts'
import { type Headers, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { eventsOf } from './events-of.ts'
import { type Authentication, bearer, everyWay, type Issued, logIn, OIDC, open, refusalOf } from './people.ts'
import { copyKeys, loseKeys } from './subjects.ts'

const erase = (
  { request }: Started,
  subject: unknown,
  reason: unknown = 'request of the person',
  headers: Headers = {},
) => request<SubjectErased>('POST', '/audit/v1/subjects/erase', { subject, reason }, headers)
const subjectsOf = async ({ request }: Started) =>
  (await request<SubjectsFound>('POST', '/audit/v1/subjects/find', { method: 'METHOD_OIDC', identity: 'alice' })).json
    .subjects
const personIn = async (service: Started) => (await subjectsOf(service))[0]!.subject
const erasuresIn = ({ directory }: Started) =>
  eventsOf(directory, ({ type }) => type === 'SubjectErased' || type === 'SubjectErasureRequested')
const recordOf = async ({ request }: Started, id: string) =>
  (await request<Authentication>('GET', `/auth/v1/tokens/${id}`)).json.metadata
const ERASED = 'io.service.auth.erased'

/** Logs in, and lets the session make a token, so that the session has a key of its own. */
const activeSession = async (service: Started) => {
  const login = await logIn(service, OIDC)
  await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'made' }, bearer(login.token))
  return login
}

await t.test('an erasure destroys the keys of a person and of their tokens, and is recorded', async (t) => {
  const { service } = await everyWay(t)
  const session = await activeSession(service)
  const idle = await logIn(service, OIDC)
  const subject = await personIn(service)
  const answer = await erase(service, subject)
  const keys = [subject, `token-${session.authentication.id}`]
  const day = new Date().toISOString().slice(0, 10)
  t.match(answer, { status: 200, json: { subject, keys, networks: [`network-${day}`] } })
  t.equal(answer.headers['event-position'], answer.json.position)
  const events = await erasuresIn(service)
  t.match(events, [
    {
      stream: `keys-${subject}`,
      type: 'SubjectErasureRequested',
      data: { subject, keys, reason: 'request of the person' },
    },
    { stream: `keys-${subject}`, type: 'SubjectErased', data: { subject, keys } },
  ])
  t.equal(String(events[1]!.position), answer.json.position)
  t.equal(events[1]!.meta.actor.kind, 'token')
  t.match(await subjectsOf(service), [{ subject, status: 'erased', tokens: 2 }])
  t.equal((await recordOf(service, session.authentication.id))[ERASED], 'true')
  t.strictSame((await erase(service, subject)).json, answer.json, 'an erased subject stays as it is')
  t.equal((await erasuresIn(service)).length, 2)

  for (const live of [session, idle])
    t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(live.token))).status, 200)
  await service.request('POST', '/auth/v1/method/token', { name: 'later' }, bearer(idle.token))
  t.strictSame((await erase(service, subject)).json, answer.json, 'a live token of the person gets no key any more')

  const addressOf = async (by: string) => {
    const search = `tokenId=${by}&type=TokenIssued&personal=open`
    const { json } = await service.request<HistoryEvents>('GET', `/audit/v1/events?${search}`)
    return json.events.map(({ personal }) => personal?.['/meta/ip']?.status)
  }
  const erasedEverywhere = async (when: string) => {
    t.equal((await recordOf(service, session.authentication.id))[ERASED], 'true', when)
    for (const { authentication } of [session, idle])
      t.strictSame(await addressOf(authentication.id), ['erased', 'erased'], when)
  }
  await erasedEverywhere('a token that no erasure names is erased with its holder')
  await service.reopen()
  await erasedEverywhere('after a start')
  t.match(await service.metrics(), /^rollcall_subjects_lost_total 0$/m)
})

await t.test('a person who logs in after an erasure is a new subject of the same identity', async (t) => {
  const { service } = await everyWay(t)
  const first = await logIn(service, OIDC)
  const subject = await personIn(service)
  await erase(service, subject)
  const second = await logIn(service, OIDC)
  t.match(await subjectsOf(service), [
    { subject, status: 'erased' },
    { subject: `${subject}.2`, status: 'open' },
  ])
  t.notOk(ERASED in (await recordOf(service, second.authentication.id)))
  await erase(service, `${subject}.2`)
  t.match((await service.request('GET', '/metrics')).text, /rollcall_subjects_erased_total 2\n/)
  await service.reopen()
  const third = await logIn(service, OIDC)
  t.match(await subjectsOf(service), [
    { status: 'erased' },
    { subject: `${subject}.2`, status: 'erased' },
    { subject: `${subject}.3`, status: 'open' },
  ])
  const revoked = await service.request('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_OIDC', identity: 'alice' })
  t.match(revoked.json, { revoked: 3 }, 'the sessions of all subjects are revoked together')
  for (const { token } of [first, second, third])
    t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401)
})

await t.test('the addresses of a token and of a day are erased by themselves', async (t) => {
  const clock = virtualClock()
  const { service } = await everyWay(t, {}, { clock })
  const { authentication } = await activeSession(service)
  const subject = await personIn(service)
  const day = `network-${clock.now().toISOString().slice(0, 10)}`
  const midnight = Date.parse(clock.now().toISOString().slice(0, 10)) + 86_400_000
  for (const early of [0, midnight - clock.now().getTime(), 500_000]) {
    clock.jump(early)
    const { status, message } = refusalOf(await erase(service, day))
    t.match({ status, message }, { status: 400, message: /must be a day that ended at least ten minutes ago \(UTC\)$/ })
  }
  t.strictSame(await erasuresIn(service), [])
  clock.jump(100_000)
  for (const alone of [`token-${authentication.id}`, day])
    t.match(await erase(service, alone), { status: 200, json: { subject: alone, keys: [alone], networks: [] } })
  t.match(await subjectsOf(service), [{ subject, status: 'open' }])
  t.match((await erase(service, subject)).json, { keys: [subject], networks: [] }, 'without keys that are gone already')
})

await t.test('an erasure needs a credential with the right, a known subject and a reason', async (t) => {
  const service = await startService(t, { 'authentication.required': 'false' })
  const { request } = service
  const of = async (role: string) =>
    bearer((await request<Issued>('POST', '/auth/v1/method/token', { name: role, role })).json.clientToken)
  t.match(refusalOf(await erase(service, 'person-x', 'r', open)), { status: 401, reason: 'credential_missing' })
  for (const role of ['auditor', 'editor'])
    t.match(refusalOf(await erase(service, 'person-x', 'r', await of(role))), { status: 403, reason: 'right_missing' })
  const admin = await of('admin')
  for (const unknown of [`person-${'x'.repeat(22)}`, 'key-encryption key', 'x', 'token-../x'])
    t.match(refusalOf(await erase(service, unknown, 'r', admin)), {
      status: 404,
      message: `subject "${unknown}" not found`,
    })
  t.match(refusalOf(await erase(service, '', 'r')), { status: 400, message: /subject: must not be empty/ })
  t.match(refusalOf(await erase(service, 'x', '')), { status: 400, message: /reason: must not be empty/ })
  t.match(refusalOf(await erase(service, 'x', 'r'.repeat(501))), { status: 400, message: /at most 500 characters/ })
  t.strictSame(await erasuresIn(service), [])
})

await t.test('a repeated request with an idempotency key erases once', async (t) => {
  const { service } = await everyWay(t)
  await logIn(service, OIDC)
  const subject = await personIn(service)
  const key = { 'idempotency-key': 'erase-1' }
  const first = await erase(service, subject, 'r', key)
  const second = await erase(service, subject, 'r', key)
  t.strictSame([second.status, second.json], [200, first.json])
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.equal((await erasuresIn(service)).length, 2)
})

await t.test(
  'a start and the scrub destroy keys of an erased person that an older copy of the store has',
  async (t) => {
    const clock = virtualClock()
    const { service } = await everyWay(t, {}, { clock })
    const session = await activeSession(service)
    const subject = await personIn(service)
    const copy: { restore: () => Promise<void> } = { restore: async () => undefined }
    await service.reopen(async () => {
      copy.restore = await copyKeys(service)
    })
    await erase(service, subject)
    const isErased = async () => (await recordOf(service, session.authentication.id))[ERASED] === 'true'
    await service.reopen(() => copy.restore())
    t.ok(await isErased(), 'before the first request')
    const warnings = async () =>
      (await service.logged()).split('keys of erased subjects were in the key store').length - 1
    t.equal(await warnings(), 1)
    await service.reopen()
    t.ok(await isErased())
    t.equal(await warnings(), 1)
    t.equal((await erasuresIn(service)).length, 2, 'without a new event')
    if (!onCluster) return
    await copy.restore()
    await eventually(async () => {
      await clock.advance(1_000)
      return (await warnings()) === 2
    }, 'a scrub that destroys the keys')
    t.ok(await isErased())
  },
)

await t.test('after a start, one line counts the live people whose personal data cannot be read', async (t) => {
  const clock = virtualClock()
  const { service } = await everyWay(t, { 'history.ledger.scrub_interval': '10m' }, { clock })
  const lines = async () =>
    (await service.logged()).split('\n').filter((line) => line.includes('have no readable personal'))
  const scrubbed = async () => {
    const { json } = await service.request<{ readonly scrub: { readonly at?: string } }>('GET', '/audit/v1/ledger')
    return json.scrub.at
  }
  /** Advances the clock until the next comparison of the log. */
  const nextScrub = async () => {
    const before = await scrubbed()
    await eventually(async () => {
      await clock.advance(5_000)
      return (await scrubbed()) !== before
    }, 'a run')
  }
  await logIn(service, OIDC)
  await logIn(service, OIDC)
  await nextScrub()
  t.strictSame(await lines(), [], 'all keys are there')
  const person = await personIn(service)
  await service.reopen(() => loseKeys(service))
  await nextScrub()
  const [line, ...more] = await lines()
  t.match(JSON.parse(line!), { level: 'WARN', lost: 1, erased: 0, examined: 2, msg: /restore lost keys/ })
  t.strictSame(more, [])
  t.match(await service.metrics(), /^rollcall_subjects_lost_total 1$/m)
  await erase(service, person)
  await nextScrub()
  t.match(JSON.parse((await lines())[1]!), { lost: 0, erased: 1, examined: 2 })
})

// On servers the time of the next run is that of Redis.
await t.test(
  'with history.network_life the service erases the addresses of old days',
  { skip: onServers },
  async (t) => {
    const clock = virtualClock()
    const service = await startService(
      t,
      { 'history.network_life': '24h', 'authentication.required': 'false' },
      { clock },
    )
    const create = (key: string) =>
      service.request('POST', '/api/v1/flags', { key, name: key, type: 'BOOLEAN_FLAG_TYPE' }, open)
    await create('f')
    const day = `network-${clock.now().toISOString().slice(0, 10)}`
    await service.reopen(async () => clock.jump(3 * 86_400_000))
    await eventually(async () => {
      await clock.advance(100)
      return (await erasuresIn(service)).length === 2
    }, 'the erasure of the day')
    t.match(await erasuresIn(service), [
      { type: 'SubjectErasureRequested', data: { subject: day, keys: [day], reason: 'history.network_life' } },
      { type: 'SubjectErased', data: { subject: day }, meta: { actor: { kind: 'system' } } },
    ])
    t.equal((await create('g')).status, 200)
  },
)
