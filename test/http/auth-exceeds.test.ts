import fc from 'fast-check'
import t from 'tap'
import { levelOf, RIGHTS } from '../../src/access/rights.ts'
import { BUILT_IN } from '../../src/access/roles.ts'
import { type Fields, type Started, startService } from '../start.ts'
import { bearer, type Issued, type Problem, refusalOf } from './people.ts'

const TOKEN = '/auth/v1/method/token'
const create = ({ request }: Started, token: string, body: Fields) =>
  request<Issued>('POST', TOKEN, { name: 'n', ...body }, bearer(token))
const withNamespaces = async (service: Started) => {
  for (const key of ['shop', 'other']) await service.request('POST', '/api/v1/namespaces', { key, name: key })
  return service
}
const maker = async (service: Started, body: Fields) => {
  const { status, text, json } = await service.request<Issued>('POST', TOKEN, { name: 'maker', ...body })
  if (status !== 200) throw new Error(`${status} ${text}`)
  return json.clientToken
}

type Case = {
  readonly of: Fields
  readonly asks: Fields
  readonly reason?: string
  readonly message?: string
}
const grants = (...list: readonly string[]) => ({
  grants: list.map((text) => {
    const [what = '', namespaceKey = ''] = text.split('@')
    return what.includes('.') ? { rights: what.split(','), namespaceKey } : { role: what, namespaceKey }
  }),
})
const exceeds = (right: string, where: string) => ({
  reason: 'grant_exceeds',
  message: `permission denied: grant exceeds your own: ${right} in ${where}`,
})
const [SHOP, EVERY] = ['namespace "shop"', 'every namespace']
const owner = grants('admin@shop')
const issuer = grants('viewer@*', 'token.create@*')
const cases: readonly Case[] = [
  { of: owner, asks: { namespaceKey: 'shop' } },
  { of: owner, asks: { namespaceKey: 'shop', role: 'editor' } },
  { of: owner, asks: { namespaceKey: 'shop', role: 'admin' } },
  {
    of: owner,
    asks: grants('client@shop'),
    reason: 'right_missing',
    message: 'permission denied: needs token.create in every namespace',
  },
  {
    of: owner,
    asks: { namespaceKey: 'other' },
    reason: 'right_missing',
    message: 'permission denied: needs token.create in namespace "other"',
  },
  {
    of: owner,
    asks: {},
    reason: 'right_missing',
    message: 'permission denied: needs token.create in every namespace',
  },
  { of: issuer, asks: { role: 'viewer' } },
  { of: issuer, asks: { role: 'client', namespaceKey: 'shop' } },
  { of: issuer, asks: grants('client@shop', 'viewer@other', 'token.create@*') },
  { of: issuer, asks: { role: 'editor' }, ...exceeds('flag.create', EVERY) },
  { of: issuer, asks: { role: 'editor', namespaceKey: 'shop' }, ...exceeds('flag.create', SHOP) },
  { of: issuer, asks: { namespaceKey: 'shop' }, ...exceeds('flag.create', SHOP) },
  { of: issuer, asks: {}, ...exceeds('flag.create', EVERY) },
  { of: issuer, asks: { role: null, grants: null }, ...exceeds('flag.create', EVERY) },
  { of: issuer, asks: { namespace_key: ' shop ', grants: null }, ...exceeds('flag.create', SHOP) },
  { of: issuer, asks: { grants: [{ rights: ['audit.read'], namespace_key: ' * ' }] }, ...exceeds('audit.read', EVERY) },
  { of: issuer, asks: grants('flag.delete@shop', 'flag.update@*'), ...exceeds('flag.delete', SHOP) },
  { of: issuer, asks: grants('flag.update@shop', 'flag.update@*'), ...exceeds('flag.update', EVERY) },
  { of: issuer, asks: grants('token.revoke@shop'), ...exceeds('token.revoke', SHOP) },
  { of: grants('auditor@*', 'token.create@*'), asks: { role: 'viewer' }, ...exceeds('flag.snapshot', EVERY) },
  { of: grants('token.create@shop', 'viewer@shop'), asks: { namespaceKey: 'shop', role: 'viewer' } },
  {
    of: grants('token.create@shop', 'viewer@other'),
    asks: { namespaceKey: 'shop', role: 'viewer' },
    ...exceeds('flag.evaluate', SHOP),
  },
  {
    of: { role: 'editor' },
    asks: { role: 'client' },
    reason: 'right_missing',
    message: 'permission denied: needs token.create',
  },
  // All present rights are not `*`, which includes future rights.
  { of: grants(`${RIGHTS.join(',')}@*`), asks: { role: 'admin' }, ...exceeds('*', EVERY) },
  { of: grants(`${RIGHTS.join(',')}@*`), asks: {}, ...exceeds('*', EVERY) },
  { of: grants(`${RIGHTS.join(',')}@*`), asks: { role: 'auditor' } },
  { of: grants('admin@*'), asks: {} },
  { of: grants('admin@*'), asks: { role: 'admin' } },
]

await t.test('a token that a caller may not create is refused, and the missing right is named', async (t) => {
  const service = await withNamespaces(await startService(t))
  for (const { of, asks, reason, message } of cases) {
    const answer = await create(service, await maker(service, of), asks)
    const name = `${JSON.stringify(of).slice(0, 120)} asks ${JSON.stringify(asks)}`
    if (reason === undefined) {
      t.equal(answer.status, 200, `${name}: ${answer.text}`)
      continue
    }
    t.strictSame(refusalOf(answer), { status: 403, code: 7, reason, message }, name)
    const [, right = '', place] = /(?:needs|own:) (\S+)(?: in (.*))?$/.exec(message!) ?? []
    const [{ value }] = (answer.json as unknown as Problem).details
    t.equal(answer.headers['www-authenticate'], `Bearer error="insufficient_scope", scope="${right}"`, name)
    t.equal(value.metadata['right'], right, name)
    const key = place === undefined ? undefined : place === EVERY ? '*' : (JSON.parse(place.slice(10)) as string)
    t.equal(value.metadata['namespaceKey'], key, name)
  }
})

await t.test("a new token is checked against its creator's rights before its fields are checked", async (t) => {
  const service = await withNamespaces(await startService(t))
  const issuing = await maker(service, issuer)
  for (const more of [{}, { name: '' }, { expiresAt: 'never' }, { metadata: { 'io.service.auth.token.name': 'x' } }])
    t.match(
      refusalOf(await create(service, issuing, { role: 'editor', ...more })),
      { reason: 'grant_exceeds' },
      JSON.stringify(more),
    )
  t.match(refusalOf(await create(service, issuing, grants('editor@nowhere'))), { reason: 'grant_exceeds' })
  t.match(refusalOf(await create(service, issuing, { namespaceKey: 'nowhere', role: 'client' })), { status: 404 })
  t.match(
    refusalOf(await create(service, await maker(service, owner), { namespaceKey: 'nowhere', role: 'client' })),
    { reason: 'right_missing' },
    'who may not ask does not learn that it is not there',
  )
  for (const [asks, message] of [
    [{ role: 'boss' }, 'invalid field role: unknown role "boss"'],
    [{ grants: [{ role: 'viewer' }] }, 'invalid field grants[0].namespaceKey: must not be empty'],
    [{ grants: [] }, 'invalid field grants: must not be empty'],
    [
      { grants: [{ rights: ['flag.fly'], namespaceKey: '*' }] },
      'invalid field grants[0].rights: unknown right "flag.fly"',
    ],
  ] as const)
    t.match(
      refusalOf(await create(service, issuing, asks)),
      { status: 400, message },
      'what cannot be read is left to the field rules',
    )
  const bound = await maker(service, { namespaceKey: 'shop', role: 'admin' })
  for (const asks of [{ role: 'editor' }, { namespaceKey: 'shop', role: 'client' }, { name: '' }])
    t.match(refusalOf(await create(service, bound, asks)), { reason: 'token_scoped', message: 'permission denied' })
})

await t.test('a refusal stores nothing under the idempotency key', async (t) => {
  const service = await withNamespaces(await startService(t))
  const issuing = await maker(service, issuer)
  const headers = { ...bearer(issuing), 'idempotency-key': 'once' }
  const ask = (body: Fields) => service.request<Issued>('POST', TOKEN, { name: 'n', ...body }, headers)
  t.match(refusalOf(await ask({ role: 'editor' })), { reason: 'grant_exceeds' })
  t.equal((await ask({ role: 'viewer' })).status, 200)
})

/**
 * Rights of a requested token as (right, place) pairs, `all` for full access; derived from the tables of the contract
 * only.
 */
const meant = (asks: Asks): 'all' | ReadonlySet<string> => {
  const list =
    asks.grants ?? (asks.role === undefined ? undefined : [{ namespaceKey: asks.namespaceKey ?? '*', role: asks.role }])
  if (!list && asks.namespaceKey === undefined) return 'all'
  const ofNamespaced = RIGHTS.filter((right) => /^(flag|segment)\.|^namespace\.(read|update)$|^history/.test(right))
  const pairs = (list ?? [{ namespaceKey: asks.namespaceKey!, rights: ofNamespaced }]).flatMap((grant) => {
    const role = BUILT_IN.find(({ name }) => name === grant.role)
    const named = grant.rights ?? role!.rights
    if (named.includes('*') && grant.namespaceKey === '*') return ['all']
    return RIGHTS.filter((right) => named.includes('*') || named.includes(right))
      .filter((right) => grant.namespaceKey === '*' || levelOf(right) !== 'deployment')
      .filter((right) => asks.namespaceKey === undefined || ofNamespaced.includes(right))
      .map((right) => (right === 'self.use' ? right : `${right}@${grant.namespaceKey}`))
  })
  return pairs.includes('all') ? 'all' : new Set(pairs)
}
const isWithin = (one: ReturnType<typeof meant>, other: ReturnType<typeof meant>): boolean => {
  if (other === 'all') return true
  if (one === 'all') return false
  const has = (pair: string) => other.has(pair) || other.has(pair.replace(/@.*/, '@*'))
  return [...one].every(has)
}

type AskedGrant = { readonly namespaceKey: string; readonly role?: string; readonly rights?: readonly string[] }
type Asks = { readonly namespaceKey?: string; readonly role?: string; readonly grants?: readonly AskedGrant[] }
const place = fc.constantFrom('shop', 'other')
const role = fc.constantFrom(...BUILT_IN.map(({ name }) => name))
const grant: fc.Arbitrary<AskedGrant> = fc.oneof(
  fc.record({ role, namespaceKey: fc.oneof(place, fc.constant('*')) }),
  fc.record({ rights: fc.subarray([...RIGHTS], { minLength: 1 }), namespaceKey: fc.constant('*') }),
  fc.record({
    rights: fc.subarray(
      RIGHTS.filter((right) => levelOf(right) !== 'deployment'),
      { minLength: 1 },
    ),
    namespaceKey: place,
  }),
)
const asks: fc.Arbitrary<Asks> = fc.oneof(
  fc.constant({}),
  fc.record({ namespaceKey: place }),
  fc.record({ role }),
  fc.record({ role, namespaceKey: place }),
  fc.record({ grants: fc.array(grant, { minLength: 1, maxLength: 3 }) }),
)
/** Step of an escalation attempt: one of their tokens, and its use. */
const step = fc.record({ by: fc.nat(), asks, as: fc.constantFrom('bearer', 'session', 'ended') })

type Held = { readonly token: string; readonly may: ReturnType<typeof meant> }
const OWN = { 'sec-fetch-site': 'same-origin', authorization: '' }

await t.test('no sequence of commands gives a token more rights than its creator had', async (t) => {
  const service = await withNamespaces(await startService(t, { 'rate_limit.enabled': 'false' }))
  let [made, refused] = [0, 0]
  const run = async (first: Asks, steps: readonly { by: number; asks: Asks; as: string }[]) => {
    const held: Held[] = [{ token: await maker(service, first), may: meant(first) }]
    for (const { by, asks, as } of steps) {
      const from = held[by % held.length]!
      const headers = as === 'session' ? { cookie: `service_client_token=${from.token}`, ...OWN } : bearer(from.token)
      const answer = await service.request<Issued>('POST', TOKEN, { name: 'n', ...asks }, headers)
      const may = meant(asks)
      if (answer.status !== 200) {
        refused++
        continue
      }
      made++
      if (!isWithin(may, from.may)) throw new Error(`${JSON.stringify(asks)} was made`)
      const { clientToken: token } = answer.json
      const { json } = await service.request<{ full: boolean }>('GET', '/auth/v1/access', undefined, bearer(token))
      if (json.full !== (may === 'all')) throw new Error(`${JSON.stringify(asks)} reaches ${JSON.stringify(json)}`)
      held.push({ token, may })
      if (as === 'ended') await service.request('PUT', '/auth/v1/self/expire', {}, bearer(from.token))
    }
  }
  // Every second chain begins with full access, because others can create little.
  const first = fc.oneof(fc.constant<Asks>({}), asks)
  await fc.assert(fc.asyncProperty(first, fc.array(step, { maxLength: 8 }), run), { numRuns: 60 })
  t.ok(made > 20 && refused > 20, `${made} made, ${refused} refused`)
})
