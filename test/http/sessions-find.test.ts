import t from 'tap'
import { type PersonCursor, sessionsOf } from '../../src/http/routes/auth/sessions-find.ts'
import type { Query } from '../../src/projections/views.ts'
import type { Started } from '../start.ts'
import { eventsOf } from './events-of.ts'
import { granted, withNamespaces } from './granted.ts'
import { bearer, CODEHOST, everyWay, logIn, OIDC, open, refusalOf } from './people.ts'

type Found = {
  readonly authentications: readonly { readonly id: string }[]
  readonly examined: number
  readonly nextPageToken: string
}
const PATH = '/auth/v1/sessions/find'
const find = ({ request }: Started, body: object, headers = {}) => request<Found>('POST', PATH, body, headers)
const ids = ({ json }: Awaited<ReturnType<typeof find>>) => json.authentications.map(({ id }) => id).sort()

/** Ada has two sessions at the provider and one at the code host; Bob has one session. */
const people = async (t: Parameters<typeof everyWay>[0]) => {
  const world = await everyWay(t)
  const { service, liar, host } = world
  const ada = { email: 'Ada@example.com', preferred_username: 'ada' }
  const session = async () => (await logIn(service, OIDC)).authentication.id
  liar.lies = { claims: { sub: 'bob', email: 'bob@example.com', name: 'ada@example.com' } }
  const bob = await session()
  liar.lies = { claims: { sub: 'ada', ...ada } }
  const [first, second] = [await session(), await session()]
  host.user = { ...host.user, id: 7, login: 'ada', email: 'ada@EXAMPLE.com' }
  const third = (await logIn(service, CODEHOST)).authentication.id
  return { ...world, bob, ada: [first, second, third] }
}

await t.test('sessions of a person are found at all providers by email address or login name', async (t) => {
  const { service, ada, bob } = await people(t)
  for (const person of ['ada@example.com', ' ADA@example.COM ', 'ada']) {
    const found = await find(service, { person })
    t.strictSame(ids(found), [...ada].sort(), person)
    t.match(found.json, { examined: 4, nextPageToken: '' })
  }
  t.strictSame(ids(await find(service, { person: 'bob@example.com' })), [bob])
  for (const person of ['ada@example', 'example.com', 'bob', 'x'])
    t.strictSame(ids(await find(service, { person })), [], `${person} is not a whole address or login name`)
  await service.request('DELETE', `/auth/v1/tokens/${ada[0]}`)
  t.strictSame(ids(await find(service, { person: 'ada' })), ada.slice(1).sort(), 'only live sessions')
  const own = await service.request('GET', `/auth/v1/tokens/${bob}`)
  t.strictSame((await find(service, { person: 'bob@example.com' })).json.authentications, [own.json])
})

await t.test('a search for a person is recorded without the person, and needs the right everywhere', async (t) => {
  const { service } = await people(t)
  await withNamespaces(service, 'shop')
  await find(service, { person: 'ada@example.com' })
  const events = await eventsOf(service.directory)
  const [record] = events.filter(({ type }) => type === 'HistoryExported')
  t.match(record, {
    data: { format: 'json', filter: {}, fromIndex: 0, personal: true },
    meta: { route: PATH, actor: { kind: 'token' } },
  })
  // A random id may contain these letters.
  const text = JSON.stringify(record).replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '')
  t.notMatch(text, /ada|example\.com/i)
  t.match(refusalOf(await find(service, {})), { status: 400, message: 'invalid field person: must not be empty' })
  t.match(refusalOf(await find(service, { person: 'ada', pageToken: 'x' })), { reason: 'invalid_page_token' })
  t.equal((await find(service, { person: 'ada' }, open)).status, 401)
  const reader = { grants: [{ rights: ['token.read'], namespaceKey: 'shop' }] }
  const { headers } = await granted(service, reader)
  t.match(refusalOf(await find(service, { person: 'ada' }, headers)), {
    status: 403,
    message: 'permission denied: needs token.read in every namespace',
  })
  const auditor = await granted(service, { role: 'auditor' })
  t.equal((await find(service, { person: 'ada' }, bearer(auditor.clientToken))).json.authentications.length, 3)
})

await t.test('an erased person is not found by what was erased', async (t) => {
  const { service, ada } = await people(t)
  const [issued] = await eventsOf(
    service.directory,
    ({ type, data }) => type === 'TokenIssued' && data['id'] === ada[0],
  )
  const subject = String(issued!.data['subject'])
  await service.request('POST', '/audit/v1/subjects/erase', { subject, reason: 'asked for' })
  t.strictSame(ids(await find(service, { person: 'ada' })), [ada[2]])
})

await t.test('a page of a search opens at most about 10,000 sessions, and the next page goes on', async (t) => {
  const docs = Array.from({ length: 10_300 }, (_, n) => {
    const id = String(n).padStart(6, '0')
    const email = n === 0 ? 'Ada@example.com' : `user-${n}@example.com`
    const method = n % 2 === 0 ? 'oidc' : 'codehost'
    return { id, method, createdAt: `2031-01-01T00:00:00.${id}Z`, profile: JSON.stringify({ email }) }
  }).reverse()
  const list = async (_: unknown, { where, after, limit }: Query) => {
    const [method] = (where['method'] as { readonly equals: readonly string[] }).equals
    const due = docs.filter((doc) => doc.method === method && (!after || doc.id < after.key))
    return { rows: due.slice(0, limit).map((doc) => ({ doc })), total: due.length }
  }
  const service = { views: { list }, sealer: { open: async (text: string) => ({ text }) }, now: () => new Date(0) }
  const search = async (from?: PersonCursor) =>
    sessionsOf(service as never, 'ada@EXAMPLE.com', from, new AbortController().signal)
  const first = await search()
  t.ok(first.examined >= 10_000 && first.examined < 10_300, `${first.examined}`)
  const next = await search(first.next)
  t.equal(first.examined + next.examined, docs.length)
  t.equal(next.next, undefined)
  t.strictSame(
    [...first.found, ...next.found].map(({ id }) => id),
    ['000000'],
  )
})
