import t, { type Test } from 'tap'
import type { Right } from '../../src/access/rights.ts'
import { type Fields, type Started, startService } from '../start.ts'
import { maker } from './flags.ts'
import { granted } from './granted.ts'

const N = '/api/v1/namespaces/shop'

/** Namespace `shop` with a flag of each type and their segment. */
const service = await startService(t)
const make = maker(service, 'shop')
await make.namespace()
await make.segment('vip', [{ property: 'email', operator: 'eq', value: 'ada@example.com' }])
await make.boolean('yes')
await make.bySegment('yes', { segmentKeys: ['vip'] })
await make.threshold('yes', 25)
await make.variantFlag('which')
await make.rule('which', { segmentKey: 'vip' }, { [await make.variant('which', 'red', '{"a":1}')]: 100 })

type Answer = { readonly status: number; readonly json: Fields & { readonly message?: string } }
type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

/** Reads as administrator. */
const read = async (path: string): Promise<Fields> => (await service.request('GET', path)).json
/** Caller with a single right. */
const with1 = async (right: Right, namespaceKey = 'shop'): Promise<Ask> => {
  const { headers } = await granted(service, { grants: [{ namespaceKey, rights: [right] }] })
  return (method, path, body) => service.request(method, path, body, headers)
}

/** Every read route that requires a right, for existing resources. */
const reading = async ({ request }: Started): Promise<readonly string[]> => {
  type Operation = { readonly security: readonly { readonly bearer?: readonly string[] }[] }
  const { json } = await request<{ paths: Record<string, Record<string, Operation>> }>('GET', '/openapi.json')
  return Object.entries(json.paths)
    .filter(([, { get }]) => get?.security.some(({ bearer }) => bearer && bearer.length > 0) === true)
    .map(([path]) =>
      path
        .replaceAll(/\{namespaceKey\}|(?<=namespace\/)\{key\}/g, 'shop')
        .replaceAll(/(?<=segments\/)\{key\}/g, 'vip')
        .replaceAll(/\{(key|flagKey)\}/g, 'yes')
        .replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000'),
    )
}

/** Tests what the writes of a right return, and that it reads nothing else. */
const alone = (right: Right, what: (t: Test, ask: Ask) => Promise<void>, place = 'shop') =>
  t.test(`with ${right} only, reads are refused, and writes return their result`, async (t) => {
    const ask = await with1(right, place)
    const routes = await reading(service)
    t.ok(routes.length >= 25, `${routes.length} routes`)
    for (const path of routes) t.equal((await ask('GET', path)).status, 403, path)
    await what(t, ask)
  })

const whole = async (key: string): Promise<Fields> => ({
  flag: await read(`${N}/flags/${key}`),
  rules: (await read(`${N}/flags/${key}/rules`))['rules'],
  rollouts: (await read(`${N}/flags/${key}/rollouts`))['rollouts'],
  refs: {},
})

await alone('flag.update', async (t, ask) => {
  for (const key of ['yes', 'which']) {
    const { json } = await ask('POST', `${N}/flags/${key}/changes`, { changes: [{ op: 'flag.update' }] })
    t.strictSame(json, await whole(key), 'one that changes nothing reads the flag with all its parts')
  }
  const flag = await ask('PUT', `${N}/flags/which`, { name: 'which', enabled: true })
  t.strictSame(flag.json, await read(`${N}/flags/which`), 'an update reads the flag with its variants')
  const { json } = await ask('POST', `${N}/flags/yes/rollouts`, { threshold: { percentage: 50, value: false } })
  t.strictSame(json, await read(`${N}/flags/yes/rollouts/${String(json['id'])}`), 'a part reads that part')
  t.equal((await ask('PUT', `${N}/flags/none`, { name: 'none' })).status, 404, 'and whether a flag is there')
  const rule = await ask('POST', `${N}/flags/which/rules`, { segmentKey: 'none' })
  t.match(rule.json.message, /^flag "shop\/which" or segment "shop\/none" not found$/, 'and whether a segment is there')
  t.equal((await ask('POST', `${N}/flags`, { key: 'new', name: 'new' })).status, 403)
  t.equal((await ask('POST', `${N}/segments/vip/changes`, { changes: [{ op: 'segment.update' }] })).status, 403)
})

await alone('segment.update', async (t, ask) => {
  const now = async () => ({ segment: await read(`${N}/segments/vip`), refs: {} })
  const none = await ask('POST', `${N}/segments/vip/changes`, { changes: [{ op: 'segment.update' }] })
  t.strictSame(none.json, await now(), 'one that changes nothing reads the segment with its constraints')
  t.match(none.json, { segment: { constraints: [{ value: 'ada@example.com' }] } })
  const update = await ask('PUT', `${N}/segments/vip`, { name: 'vip' })
  t.strictSame(update.json, await read(`${N}/segments/vip`))
  t.equal((await ask('PUT', `${N}/segments/none`, { name: 'none' })).status, 404, 'and whether a segment is there')
  t.equal((await ask('PUT', `${N}/flags/yes`, { name: 'yes' })).status, 403)
})

await alone('namespace.update', async (t, ask) => {
  const { json } = await ask('PUT', N, { name: 'Shop' })
  t.strictSame(json, await read(N))
  t.equal((await ask('PUT', '/api/v1/namespaces/default', { name: 'Default' })).status, 403)
})

for (const kind of ['flag', 'segment'] as const) {
  const [list, taken] = [`${N}/${kind}s`, kind === 'flag' ? 'yes' : 'vip']
  await alone(`${kind}.create`, async (t, ask) => {
    const { json } = await ask('POST', list, { key: 'fresh', name: 'fresh' })
    t.strictSame(json, await read(`${list}/fresh`), 'what it made')
    const { status, json: refused } = await ask('POST', list, { key: taken, name: 'mine' })
    t.match([status, refused.message], [400, `${kind} "shop/${taken}" is not unique`], 'and that a key is taken')
  })
  await alone(`${kind}.delete`, async (t, ask) => {
    t.match(await ask('DELETE', `${list}/fresh`), { status: 200, json: {} })
    t.strictSame((await ask('DELETE', `${list}/fresh`)).json, {}, 'there or not')
    if (kind === 'segment')
      t.equal(
        (await ask('DELETE', `${list}/vip`)).json.message,
        'segment "shop/vip" is in use',
        'and that one is in use',
      )
  })
}

await alone(
  'namespace.create',
  async (t, ask) => {
    const { json } = await ask('POST', '/api/v1/namespaces', { key: 'desk', name: 'Desk' })
    t.strictSame(json, await read('/api/v1/namespaces/desk'))
  },
  '*',
)
await alone(
  'namespace.delete',
  async (t, ask) => {
    t.strictSame((await ask('DELETE', '/api/v1/namespaces/desk')).json, {})
  },
  '*',
)

await alone(
  'token.create',
  async (t, ask) => {
    const grants = [{ namespaceKey: '*', rights: ['token.create'] }]
    const { json } = await ask('POST', '/auth/v1/method/token', { name: 'made', grants })
    const { authentication, clientToken } = json as { authentication: Fields; clientToken: string }
    t.strictSame(authentication, await read(`/auth/v1/tokens/${String(authentication['id'])}`))
    t.type(clientToken, 'string')
  },
  '*',
)
await alone(
  'token.revoke',
  async (t, ask) => {
    const { id } = await granted(service, { grants: [{ namespaceKey: 'shop', rights: ['flag.evaluate'] }] })
    t.strictSame((await ask('DELETE', `/auth/v1/tokens/${id}`)).json, {})
    const { json } = await ask('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_TOKEN', identity: 'nobody' })
    t.strictSame(Object.keys(json).toSorted(), ['completeTo', 'revoked'])
  },
  '*',
)
