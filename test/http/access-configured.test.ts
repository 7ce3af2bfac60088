import t from 'tap'
import type { Started } from '../start.ts'
import { eventsOf } from './events-of.ts'
import { bearer, logIn, OIDC } from './people.ts'
import { group, reopenUnder, underRules } from './ruled.ts'

const configurations = ({ directory }: Started) => eventsOf(directory, ({ type }) => type === 'AccessConfigured')
const devs = group('devs', ['devs'], 'viewer@*')
const ann = { ...group('ann', ['ann@example.org'], 'editor@shop'), claim: 'email' }

await t.test('the access configuration is recorded whenever it changes', async (t) => {
  const { service } = await underRules(t, {})
  const [first, ...none] = await configurations(service)
  t.same(none, [])
  t.match(first, {
    stream: 'access-main',
    data: { required: true, exclude: { management: false }, requireRole: false, rules: [] },
    meta: { actor: { kind: 'system' }, command: 'ConfigureAccess', instance: /./ },
  })
  t.notOk('unmatched' in first!.data)
  await service.reopen()
  t.equal((await configurations(service)).length, 1, 'a start under the same tells nothing')

  await reopenUnder(service, { rules: [devs, ann], roles: { painter: ['flag.update'] } })
  await reopenUnder(service, { rules: [ann, devs], roles: { painter: ['flag.update'] } })
  const [, second, ...more] = await configurations(service)
  t.same(more, [], 'the order of rules is no difference')
  t.match(second?.data, {
    roles: { painter: ['flag.update'], viewer: ['flag.evaluate', 'flag.snapshot'] },
    rules: [
      { name: 'devs', claim: 'groups', anyOf: ['devs'], grants: [{ place: '*', role: 'viewer' }] },
      { name: 'ann', claim: 'email', anyOf: [/^claim-/], grants: [{ place: 'shop', role: 'editor' }] },
    ],
  })
  t.notMatch(JSON.stringify(second), /example\.org/, 'people are recorded as pseudonyms')
  await reopenUnder(service, {})
  t.equal((await configurations(service)).length, 3, 'going back is a change too')
  await reopenUnder(service, { unmatched: ['viewer@shop'] })
  t.match((await configurations(service))[3]?.data, { unmatched: [{ place: 'shop', role: 'viewer' }] })
})

await t.test('lists show the present access of tokens, and their access before they were narrowed', async (t) => {
  const { service, liar } = await underRules(t, {})
  liar.lies = { claims: { groups: ['devs'] } }
  const { token, authentication } = await logIn(service, OIDC)
  const list = async (query: string) => {
    const { json } = await service.request<{ readonly authentications: readonly { readonly id: string }[] }>(
      'GET',
      `/auth/v1/tokens?kind=session&${query}`,
    )
    return json.authentications.map(({ id }) => id)
  }
  const { id } = authentication
  t.same([await list('access=FULL'), await list('access=GRANTED')], [[id], []])
  const before = (await eventsOf(service.directory)).at(-1)!.position
  await reopenUnder(service, { rules: [devs] })
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 200)
  t.same([await list('access=FULL'), await list('access=GRANTED')], [[], [id]])
  t.same([await list(`access=FULL&at=${before}`), await list(`access=GRANTED&at=${before}`)], [[id], []])
  const may = async (more: string) =>
    (await service.request('GET', `/auth/v1/access/check?right=flag.update&id=${id}${more}`)).json
  t.match(await may(''), { allowed: false, reason: 'not_granted' })
  t.match(await may(`&at=${before}`), { allowed: true, reason: 'full_reach' }, 'decided for the moment')
  const { json } = await service.request('GET', `/auth/v1/tokens/${id}?at=${before}`)
  t.notOk('grants' in (json as object), 'it had no grants then')
  t.match((await service.request('GET', `/auth/v1/tokens/${id}`)).json, {
    grants: [{ namespaceKey: '*', role: 'viewer', rule: 'devs' }],
  })
})
