import t from 'tap'
import type { FlagList, ListedFlag } from '../../../src/contract/flags/flag.ts'
import type { ListedSegment } from '../../../src/contract/flags/segment.ts'
import type { ListedNamespace } from '../../../src/contract/resource.ts'
import type { IssuedToken } from '../../../src/contract/token.ts'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/shop'
type Keyed = { readonly key: string }
type Page = Readonly<Record<string, readonly Keyed[]>> & {
  readonly nextPageToken: string
  readonly totalCount: number
}

await t.test('lists can be searched and sorted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  const keys = async (path: string): Promise<readonly string[]> => {
    const { json, text } = await request<Page>('GET', path)
    if ('code' in json) return [text]
    const { nextPageToken: _next, totalCount: _total, ...lists } = json
    return Object.values(lists)
      .flat()
      .map(({ key }) => key)
  }
  await create(t, '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
  await create(t, '/api/v1/namespaces', { key: 'attic', name: 'zoo' })
  const flags = [
    { key: 'checkout', name: 'New checkout', type: 'BOOLEAN_FLAG_TYPE', enabled: true },
    { key: 'Ranking', name: 'search ranking', enabled: true },
    { key: 'banner', name: 'Banner 50 %', type: 'BOOLEAN_FLAG_TYPE' },
    { key: 'basket', name: 'banner 50 %' },
    { key: 'ÄRA', name: 'Checkout of old' },
  ].map((flag) => ({ ...flag, key: flag.key.replace('ÄRA', 'era') }))
  for (const flag of flags) await create(t, `${N}/flags`, flag)
  for (const [key, name] of [
    ['staff', 'Staff'],
    ['beta', 'beta testers'],
    ['none', 'Nobody'],
  ])
    await create(t, `${N}/segments`, { key, name })
  await create(t, `${N}/flags/checkout/rollouts`, { threshold: { percentage: 25, value: true } })
  await create(t, `${N}/flags/checkout/rollouts`, { segment: { segmentKeys: ['beta', 'staff'], value: true } })
  await create(t, `${N}/flags/checkout/rollouts`, { segment: { segmentKey: 'beta', value: false } })
  await create(t, `${N}/flags/Ranking/rules`, { segmentKey: 'beta' })

  await t.test('a search finds text in keys and names, in upper and lower case', async (t) => {
    t.same(await keys(`${N}/flags?q=CHECKout`), ['checkout', 'era'])
    t.same(await keys(`${N}/flags?q=50+%25`), ['banner', 'basket'])
    t.same(await keys(`${N}/flags?q=.`), [], 'as text, not as a pattern')
    t.same(await keys(`${N}/segments?q=BETA`), ['beta'])
    t.same(await keys('/api/v1/namespaces?q=zo'), ['attic'])
    t.match((await request('GET', `${N}/flags?q=checkout&limit=1`)).json, { totalCount: 2 })
  })

  await t.test('a list can be filtered by type and state, alone and together', async (t) => {
    t.same(await keys(`${N}/flags?type=BOOLEAN_FLAG_TYPE`), ['checkout', 'banner'])
    t.same(await keys(`${N}/flags?type=0`), ['Ranking', 'basket', 'era'])
    t.same(await keys(`${N}/flags?enabled`), ['checkout', 'Ranking'])
    t.same(await keys(`${N}/flags?enabled=false`), ['banner', 'basket', 'era'])
    t.same(await keys(`${N}/flags?enabled=false&type=BOOLEAN_FLAG_TYPE&q=n`), ['banner'])
  })

  await t.test('a list of flags filtered by segment names the rules and rollouts that use it', async (t) => {
    t.same(await keys(`${N}/flags?segmentKey=beta`), ['checkout', 'Ranking'])
    t.same(await keys(`${N}/flags?segmentKey=beta&type=BOOLEAN_FLAG_TYPE`), ['checkout'])
    t.same(await keys(`${N}/flags?segmentKey=Beta`), [], 'a key is no text')
    t.same(await keys(`${N}/flags?segmentKey=none`), [])
    t.equal((await keys(`${N}/flags?segmentKey=`)).length, flags.length)
    const { json } = await request<FlagList>('GET', `${N}/flags?segmentKey=beta&include=targeting`)
    t.match(json.flags, [
      {
        segmentUses: [
          { part: 'rollout', rank: 2 },
          { part: 'rollout', rank: 3 },
        ],
        rollouts: [{}, {}, {}],
      },
      { segmentUses: [{ part: 'rule', rank: 1 }], ruleCount: 1 },
    ])
    t.equal(json.flags[0]?.segmentUses?.[0]?.id, json.flags[0]?.rollouts?.[1]?.id)
    t.match((await request('GET', `${N}/flags?segmentKey=staff&limit=1`)).json, {
      totalCount: 1,
      flags: [{ segmentUses: [{ part: 'rollout', rank: 2 }] }],
    })
  })

  await t.test('a list can be sorted both ways, and all pages together are the whole list', async (t) => {
    const orders = {
      createdAt: ['checkout', 'Ranking', 'banner', 'basket', 'era'],
      name: ['banner', 'basket', 'era', 'checkout', 'Ranking'],
      key: ['Ranking', 'banner', 'basket', 'checkout', 'era'],
      changedAt: ['banner', 'basket', 'era', 'checkout', 'Ranking'],
    }
    for (const [sort, ascending] of Object.entries(orders))
      for (const [order, all] of [
        ['asc', ascending],
        ['desc', ascending.toReversed()],
      ] as const) {
        t.same(await keys(`${N}/flags?sort=${sort}&order=${order}`), all, `${sort} ${order}`)
        const seen: string[] = []
        let token = ''
        do {
          const path = `${N}/flags?sort=${sort}&order=${order}&limit=2&pageToken=${token}`
          const { json } = await request<FlagList>('GET', path)
          t.equal(json.totalCount, 5)
          seen.push(...json.flags.map(({ key }) => key))
          token = json.nextPageToken
        } while (token !== '')
        t.same(seen, all, `${sort} ${order} in pages`)
      }
    t.same(await keys(`${N}/segments?sort=name`), ['beta', 'none', 'staff'])
    t.same(await keys(`${N}/segments?sort=key&order=desc`), ['staff', 'none', 'beta'])
    t.same(await keys('/api/v1/namespaces?sort=name&order=desc'), ['attic', 'shop', 'default'])
    t.same(await keys('/api/v1/namespaces?sort=changedAt'), ['default', 'shop', 'attic'])
  })

  await t.test('a page begins after the last item of the previous page, even if that item was deleted', async (t) => {
    const path = `${N}/flags?sort=name&limit=2`
    const { json } = await request<FlagList>('GET', path)
    await request('DELETE', `${N}/flags/basket`)
    t.same(await keys(`${path}&pageToken=${json.nextPageToken}`), ['era', 'checkout'])
    await create(t, `${N}/flags`, flags[3]!)
  })

  await t.test('a page token is valid only for its own search and order', async (t) => {
    const { json } = await request<FlagList>('GET', `${N}/flags?sort=name&limit=2`)
    const { nextPageToken: token } = json
    for (const query of ['', 'sort=key&', 'sort=name&order=desc&', 'sort=name&q=a&', 'sort=name&enabled=true&'])
      await refused(
        t,
        ['GET', `${N}/flags?${query}pageToken=${token}`],
        `pageToken is not valid: "${token}"`,
        'invalid_page_token',
      )
    t.equal((await request('GET', `${N}/flags?sort=name&include=targeting&pageToken=${token}`)).status, 200)
  })

  await t.test('unknown values of parameters are refused', async (t) => {
    for (const [path, field, value] of [
      [`${N}/flags`, 'sort', 'createdat'],
      [`${N}/flags`, 'order', 'up'],
      [`${N}/flags`, 'type', 'BOOLEAN'],
      [`${N}/flags`, 'include', 'everything'],
      [`${N}/segments`, 'include', 'targeting'],
      ['/api/v1/namespaces', 'sort', ' '],
    ] as const)
      await refused(
        t,
        ['GET', `${path}?${field}=${encodeURIComponent(value)}`],
        `invalid field ${field}: unknown value "${value}"`,
      )
    await refused(t, ['GET', `${N}/flags?enabled=yes`], 'invalid field enabled: must be true or false')
  })

  await t.test('include=targeting adds targeting and the time and author of the last change', async (t) => {
    const flag = async (key: string, more = '') => {
      const { json } = await request<FlagList>('GET', `${N}/flags?include=targeting${more}`)
      return json.flags.find((each) => each.key === key) as ListedFlag
    }
    const plain = (await request<FlagList>('GET', `${N}/flags`)).json.flags.find(({ key }) => key === 'checkout')!
    t.notHas(plain, { rollouts: Array })
    t.equal(plain.changedAt, undefined)
    const { changedAt, changedBy, rollouts, ruleCount, ...rest } = await flag('checkout')
    t.same(rest, plain)
    t.equal(ruleCount, 0)
    t.equal((await flag('Ranking')).ruleCount, 1)
    t.same(rollouts, (await request<{ rollouts: unknown }>('GET', `${N}/flags/checkout/rollouts`)).json.rollouts)
    t.equal(changedAt, rollouts!.at(-1)!.createdAt)
    t.ok(changedAt! > plain.updatedAt, 'a part that changes is a change of the flag')
    t.match(changedBy, { kind: 'token', method: 'token', name: 'initial_bootstrap_token' })
    t.match(changedBy!.id, /^[0-9a-f-]{36}$/)

    const { json } = await request<IssuedToken>('POST', '/auth/v1/method/token', { name: 'ci' })
    const other = { authorization: `Bearer ${json.clientToken}` }
    await request('DELETE', `${N}/flags/checkout/rollouts/${rollouts!.at(-1)!.id}`, undefined, other)
    const after = await flag('checkout')
    t.same(after.changedBy, { kind: 'token', method: 'token', name: 'ci', id: json.authentication.id })
    t.ok(after.changedAt! >= changedAt!)
    await request('DELETE', `${N}/flags/checkout/rollouts/${rollouts!.at(-1)!.id}`)
    t.same(await flag('checkout'), after, 'what changes nothing is no change')
    t.same(await flag('checkout', '&sort=name&q=check'), after)
  })

  await t.test('include=usage adds the number of uses, flags and segments to items of lists', async (t) => {
    const { json } = await request<{ segments: readonly ListedSegment[] }>('GET', `${N}/segments?include=usage`)
    const count = ({ key, usageCount }: ListedSegment) => [key, usageCount]
    t.same(json.segments.map(count), [
      ['staff', 1],
      ['beta', 2],
      ['none', 0],
    ])
    t.match(json.segments[0], { changedBy: { name: 'initial_bootstrap_token' } })
    await create(t, `${N}/segments/none/constraints`, { type: 1, property: 'p', operator: 'eq', value: 'x' })
    t.same(await keys(`${N}/segments?sort=changedAt`), ['staff', 'beta', 'none'])
    const named = await request<{ namespaces: readonly ListedNamespace[] }>(
      'GET',
      '/api/v1/namespaces?include=usage&q=shop',
    )
    const [shop] = named.json.namespaces
    t.match(shop, { changedAt: shop!.updatedAt, changedBy: { method: 'token', name: 'initial_bootstrap_token' } })
    const inside = ({ key, flagCount, segmentCount }: ListedNamespace) => [key, flagCount, segmentCount]
    t.same(
      (
        await request<{ namespaces: readonly ListedNamespace[] }>('GET', '/api/v1/namespaces?include=usage')
      ).json.namespaces.map(inside),
      [
        ['default', 0, 0],
        ['shop', 5, 3],
        ['attic', 0, 0],
      ],
    )
    t.equal(
      (await request<{ namespaces: readonly ListedNamespace[] }>('GET', '/api/v1/namespaces')).json.namespaces[0]!
        .flagCount,
      undefined,
    )
  })

  await t.test('a list at a past moment can be searched and sorted like a present list', async (t) => {
    const paths = [
      `${N}/flags?q=banner&sort=key&order=desc`,
      `${N}/flags?sort=changedAt&include=targeting`,
      `${N}/flags?enabled=true`,
      `${N}/segments?sort=name&include=usage`,
      '/api/v1/namespaces?sort=name&include=usage',
    ]
    const before = await Promise.all(paths.map(async (path) => (await request('GET', path)).json))
    const { headers } = await request('PUT', `${N}/flags/era`, { name: 'Era', enabled: true })
    const position = BigInt(String(headers['event-position'])) - 1n
    await request('DELETE', `${N}/flags/Ranking`)
    await request('DELETE', `${N}/segments/none`)
    await create(t, `${N}/flags`, { key: 'new', name: 'A banner', enabled: true })
    await request('PUT', '/api/v1/namespaces/attic', { name: 'Attic' })
    for (const [n, path] of paths.entries()) {
      t.same((await request('GET', `${path}&at=${position}`)).json, before[n], path)
      t.notSame((await request('GET', path)).json, before[n], path)
    }
  })
})
