import t from 'tap'
import { withoutServers } from '../cluster/own.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { eventsOf } from './events-of.ts'
import { bearer, CODEHOST, cookiesOf, logIn, OIDC, refusalOf } from './people.ts'
import { type Authorization, exchange, group, lastIssued, lastOf, reachOf, reopenUnder, underRules } from './ruled.ts'
import { destroyKeys, erasePeople, loseKeys } from './subjects.ts'

const no = 'right_missing'
const gone = { status: 401, code: 16, reason: 'credential_invalid' }
const all = { reads: 'yes', writes: 'yes' }
const reads = { reads: 'yes', writes: no }
const nothing = { reads: no, writes: no }

const makeShop = ({ request }: Started) => request('POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
const narrowings = ({ directory }: Started) => eventsOf(directory, ({ type }) => type === 'TokenGrantsNarrowed')
const revocations = ({ directory }: Started) => eventsOf(directory, ({ type }) => type === 'TokenRevoked')
const self = ({ request }: Started, token: string) => request('GET', '/auth/v1/self', undefined, bearer(token))

const devs: Authorization = { rules: [group('devs', ['devs'], 'editor@shop', 'viewer@*')] }
const viewers: Authorization = { rules: [group('devs', ['devs'], 'viewer@*')] }

await t.test('tokens of earlier logins are limited to the present rules before their next request', async (t) => {
  const { service, liar, cluster } = await underRules(t, {})
  await makeShop(service)
  liar.lies = { claims: { groups: ['devs'] } }
  const { token } = await logIn(service, OIDC)
  const other = await logIn(service, CODEHOST)
  const account = await exchange(service, cluster, ['shop', 'web'])
  const own = {
    name: 'own',
    method: 'orchestrator',
    namespaces: ['*'],
    service_accounts: ['*'],
    grants: ['editor@{namespace}'],
  }
  await reopenUnder(service, { rules: [...devs.rules!, own] })

  const answers = await Promise.all(Array.from({ length: 12 }, () => self(service, token)))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.same(await reachOf(service, token), { shop: all, other: reads, tokens: no })
  t.same(await reachOf(service, account.json.clientToken), { shop: all, other: nothing, tokens: no })
  const events = await narrowings(service)
  t.equal(events.length, 2, 'one event a token, however many requests came at once')
  t.match(events[0], {
    data: {
      policy: 1,
      to: {
        grants: [
          { place: 'shop', role: 'editor', rule: 'devs' },
          { place: '*', role: 'viewer', rule: 'devs' },
        ],
      },
    },
    meta: { actor: { kind: 'system' } },
  })
  t.notOk('from' in events[0]!.data, 'it reached everything')
  t.match(refusalOf(await self(service, other.token)), gone, 'no rule grants it anything')
  t.match(await lastOf(service, 'TokenRevoked'), { id: other.authentication.id })
})

await t.test('later rules only take rights away, and more rights need a new login', async (t) => {
  const { service, liar } = await underRules(t, viewers)
  await makeShop(service)
  liar.lies = { claims: { groups: ['devs'] } }
  const { token } = await logIn(service, OIDC)

  await reopenUnder(service, devs)
  t.same(await reachOf(service, token), { shop: reads, other: reads, tokens: no }, 'more is not given')
  t.same(await narrowings(service), [], 'and who loses nothing is left as they are')
  const later = await logIn(service, OIDC)
  t.same((await reachOf(service, later.token)).shop, all)

  await reopenUnder(service, {})
  t.same(await reachOf(service, token), { shop: reads, other: reads, tokens: no }, 'rules taken away give nothing back')
  t.same((await reachOf(service, later.token)).shop, all)
  await logIn(service, OIDC)
  t.match(await lastIssued(service), { policy: 2 }, 'a login without rules is of the configuration without rules')

  await reopenUnder(service, { rules: [group('devs', ['devs'], 'admin@shop')] })
  t.same(await reachOf(service, token), { shop: reads, other: nothing, tokens: no })
  t.same(await reachOf(service, later.token), { shop: all, other: nothing, tokens: no })
  const events = await narrowings(service)
  const narrowed = events[0]!.data as { readonly to: { readonly grants: readonly { readonly rights?: string[] }[] } }
  t.match(narrowed, { from: { grants: [{ role: 'viewer' }] }, policy: 3 })
  t.ok(
    narrowed.to.grants.every(({ rights }) => rights),
    'the remainder stands as rights',
  )
})

await t.test('a limited token stays limited after a restart, without another event', async (t) => {
  const { service, liar } = await underRules(t, devs)
  await makeShop(service)
  liar.lies = { claims: { groups: ['devs'] } }
  const { token } = await logIn(service, OIDC)
  await reopenUnder(service, viewers)
  t.same((await reachOf(service, token)).shop, reads)
  await service.reopen()
  t.same((await reachOf(service, token)).shop, reads)
  await reopenUnder(service, viewers)
  t.same((await reachOf(service, token)).shop, reads)
  t.equal((await narrowings(service)).length, 1)
})

await t.test('later rules use the recorded claims of a login', async (t) => {
  const { service, liar, host } = await underRules(t, {
    rules: [
      group('devs', ['devs'], 'admin@*'),
      { name: 'acme', method: 'codehost', organizations: ['acme'], grants: ['admin@*'] },
    ],
  })
  await makeShop(service)
  liar.lies = { claims: { groups: ['devs'], department: { names: ['toys'] } } }
  host.organizations = [{ login: 'acme' }]
  host.teams = [{ slug: 'shop', organization: { login: 'acme' } }]
  const [person, member] = [await logIn(service, OIDC), await logIn(service, CODEHOST)]
  await reopenUnder(service, {
    rules: [
      { ...group('toys', ['toys'], 'viewer@shop'), claim: '/department/names' },
      { name: 'shop', method: 'codehost', teams: ['acme/shop'], grants: ['editor@shop'] },
    ],
  })
  t.same(await reachOf(service, person.token), { shop: reads, other: nothing, tokens: no })
  t.same(await reachOf(service, member.token), { shop: all, other: nothing, tokens: no })
})

for (const [what, before, change] of [
  ['erased', erasePeople, undefined],
  ['lost', undefined, loseKeys],
  ['destroyed', undefined, destroyKeys],
] as const)
  await t.test(`access rules match no personal data that are ${what}`, async (t) => {
    const { service, liar } = await underRules(t, devs)
    liar.lies = { claims: { groups: ['devs'] } }
    const { token, authentication } = await logIn(service, OIDC)
    await before?.(service)
    await service.reopen(async () => change?.(service))
    t.equal((await self(service, token)).status, 200, 'under the same rules there is no check')
    await reopenUnder(service, viewers)
    t.match(refusalOf(await self(service, token)), gone)
    t.match(await lastOf(service, 'TokenRevoked'), { id: authentication.id })
  })

await t.test('after the start the grants of each unused token are reduced once to the present rules', async (t) => {
  const { service, liar, cluster } = await underRules(t, {})
  liar.lies = { claims: { groups: ['devs'] } }
  for (let n = 0; n < 3; n++) await logIn(service, OIDC)
  await exchange(service, cluster)
  const kept = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', { name: 'static' })
  await reopenUnder(service, viewers)
  const done = async () => ({
    narrowed: (await narrowings(service)).length,
    ended: (await revocations(service)).length,
  })
  const lines = async () =>
    (await service.logged()).split('\n').filter((line) => line.includes('that the current access rules give'))
  await eventually(async () => (await lines()).length > 0, 'the end of the sweep')
  t.same(await done(), { narrowed: 3, ended: 1 })
  t.equal((await self(service, kept.json.clientToken)).status, 200, 'static tokens are under no rule')
  t.match(JSON.parse((await lines())[0]!), { level: 'INFO', narrowed: 3, ended: 1 })
  await service.reopen()
  // A start reads one record: the progress of the sweep.
  const looked = /^rollcall_store_calls_total\{port="views",adapter="\w+",operation="records",outcome="ok"\} [1-9]/m
  await eventually(async () => looked.test(await service.metrics()), 'the look of the next start')
  t.same(await done(), { narrowed: 3, ended: 1 })
  t.equal((await lines()).length, 1, 'nothing to be done is nothing to tell')
})

await t.test('a browser whose login has lost all rights must sign in again', async (t) => {
  const { service, liar } = await underRules(t, devs)
  liar.lies = { claims: { groups: ['devs'] } }
  const { answer } = await logIn(service, OIDC)
  const cookie = `service_client_token=${cookiesOf(answer)['service_client_token']!.value}`
  await reopenUnder(service, { rules: [group('others', ['others'], 'viewer@*')] })
  const asked = await service.request('GET', '/auth/v1/self', undefined, { authorization: '', cookie })
  t.match(refusalOf(asked), gone)
  t.equal(cookiesOf(asked)['service_client_token']?.value, '', 'the cookie is cleared')
})

// One instance alone uses the files of an embedded store.
await t.test(
  'if two instances have different access rules, the later ones reduce a token once',
  { skip: withoutServers },
  async (t) => {
    const { service: first, liar, settings } = await underRules(t, viewers)
    await makeShop(first)
    liar.lies = { claims: { groups: ['devs'] } }
    const old = await logIn(first, OIDC)
    const file = { authorization: { rules: [group('devs', ['devs'], 'editor@shop')] } }
    const second = await startService(t, settings, { directory: first.directory, file })
    t.same(await reachOf(second, old.token), { shop: reads, other: nothing, tokens: no })
    t.same(await reachOf(first, old.token), { shop: reads, other: nothing, tokens: no })
    t.equal((await narrowings(first)).length, 1)

    const later = await logIn(second, OIDC)
    t.same(await reachOf(first, later.token), { shop: all, other: nothing, tokens: no }, 'of a later one')
    const earlier = await logIn(first, OIDC)
    const uses = [first, second, first, second].map((service) => self(service, earlier.token))
    t.same(new Set((await Promise.all(uses)).map(({ status }) => status)), new Set([200]))
    t.same(await reachOf(first, earlier.token), { shop: reads, other: nothing, tokens: no })
    t.equal((await narrowings(first)).length, 2)
  },
)
