import t from 'tap'
import { byOrder, byRank } from '../../../src/http/lists/paging.ts'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'
type Item = { readonly key: string; readonly id: string }
type Page = Readonly<Record<string, readonly Item[]>> & { readonly nextPageToken: string; readonly totalCount: number }

await t.test('lists of resources are returned in pages', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  const get = async (path: string) => (await request<Page>('GET', path)).json
  const lists = { namespaces: '/api/v1/namespaces', flags: `${N}/flags`, segments: `${N}/segments` } as const
  const names = Array.from({ length: 7 }, (_, n) => `k${9 - n}`)
  for (const path of Object.values(lists)) for (const key of names) await create(t, path, { key, name: key })
  const rollouts = `${N}/flags/k9/rollouts`
  const rules = `${N}/flags/k9/rules`
  for (let n = 0; n < 7; n++) {
    await create(t, rollouts, { threshold: { percentage: n, value: true } })
    await create(t, rules, { segmentKey: 'k9' })
  }

  await t.test('all pages together are the whole list, in order of creation or rank', async (t) => {
    for (const [name, path] of [...Object.entries(lists), ['rules', rules], ['rules', rollouts]] as const) {
      const whole = await get(path)
      const all = whole[name]!
      t.equal(whole.totalCount, all.length)
      t.equal(whole.nextPageToken, '')
      if (name !== 'rules')
        t.same(
          all.map(({ key }) => key).filter((key) => key !== 'default'),
          names,
        )
      for (const limit of [1, 3, 7, 8, 1000, 5000]) {
        const seen: Item[] = []
        let token = ''
        do {
          const page = await get(`${path}?limit=${limit}&pageToken=${token}`)
          t.equal(page.totalCount, all.length)
          t.ok(page[name]!.length <= limit)
          seen.push(...page[name]!)
          token = page.nextPageToken
        } while (token !== '')
        t.same(seen, all, `${path} by ${limit}`)
      }
    }
  })

  await t.test('offset skips items, and is ignored together with a page token', async (t) => {
    const keys = async (query: string) => (await get(`${N}/flags?${query}`))['flags']!.map(({ key }) => key)
    t.same(await keys('offset=5'), names.slice(5))
    t.same(await keys('offset=2&limit=2'), names.slice(2, 4))
    t.same(await keys('offset=99'), [])
    t.same(await keys('limit=&offset=&pageToken=&reference='), names)
    const { nextPageToken } = await get(`${N}/flags?limit=2`)
    t.same(await keys(`page_token=${nextPageToken}&offset=1`), names.slice(2))
    t.same(await keys(`pageToken=${nextPageToken}&limit=1`), names.slice(2, 3))
    for (const query of ['limit', 'offset'])
      for (const [value, wrong] of [
        ['-1', 'must not be negative'],
        ['1.5', 'must be an integer'],
        ['x', 'must be an integer'],
        ['3000000000', 'must be an integer'],
      ])
        await refused(t, ['GET', `${N}/flags?${query}=${value}`], `invalid field ${query}: ${wrong}`)
    await refused(t, ['GET', `${N}/flags?limit=1&limit=1`], 'invalid field limit: given twice')
  })

  await t.test('a page token is valid only for its own list', async (t) => {
    const { nextPageToken: token } = await get(`${N}/flags?limit=2`)
    const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    for (const [path, given] of [
      [`${N}/flags`, changed],
      [`${N}/flags`, `${token}.x`],
      [`${N}/flags`, `${token}!`],
      [`${N}/flags`, 'x'],
      [`${N}/segments`, token],
      ['/api/v1/namespaces/k9/flags', token],
      ['/api/v1/namespaces/none/flags', token],
      ['/api/v1/namespaces', token],
      [rules, token],
    ] as const)
      await refused(
        t,
        ['GET', `${path}?pageToken=${given}`],
        `pageToken is not valid: "${given}"`,
        'invalid_page_token',
      )
    const at = new Date().toISOString()
    await refused(
      t,
      ['GET', `${N}/flags?pageToken=${token}&at=${at}`],
      `pageToken is not valid: "${token}"`,
      'invalid_page_token',
    )
    t.equal(
      (await request('GET', `/api/v1/flags?pageToken=${token}`)).status,
      200,
      'the same list under its other path',
    )
  })

  await t.test('changes during paging neither hide nor repeat other items', async (t) => {
    const first = await get(`${N}/flags?limit=3`)
    await request('DELETE', `${N}/flags/k8`)
    await request('DELETE', `${N}/flags/k7`)
    await create(t, `${N}/flags`, { key: 'late', name: 'x' })
    const rest = await get(`${N}/flags?pageToken=${first.nextPageToken}`)
    t.same(
      rest['flags']!.map(({ key }) => key),
      [...names.slice(3), 'late'],
    )

    const all = (await get(rollouts))['rollouts']!
    const page = await get(`${rollouts}?limit=3`)
    await request('DELETE', `${rollouts}/${all[0]!.id}`)
    await request('DELETE', `${rollouts}/${all[2]!.id}`)
    const following = await get(`${rollouts}?pageToken=${page.nextPageToken}`)
    t.same(
      following['rollouts']!.map(({ id }) => id),
      all.slice(3).map(({ id }) => id),
      'though all ranks have changed',
    )
  })

  await t.test('an unknown namespace or flag has empty lists', async (t) => {
    for (const [path, name] of [
      ['/api/v1/namespaces/none/flags', 'flags'],
      ['/api/v1/namespaces/none/segments', 'segments'],
      [`${N}/flags/none/rules`, 'rules'],
      [`${N}/flags/none/rollouts`, 'rollouts'],
    ] as const)
      t.match(await request('GET', path), { status: 200, json: { [name]: [], nextPageToken: '', totalCount: 0 } })
  })
})

await t.test('a list ordered by rank continues if the last item of the page was deleted', async (t) => {
  const all = Array.from({ length: 12 }, (_, n) => ({ id: `r${n + 1}`, rank: n + 1 }))
  const cursor = byRank.cursor(all, 10)
  t.equal(byRank.behind(all, cursor), 10)
  t.equal(byRank.behind([all[0]!, all[10]!, all[11]!], cursor), 1)
  t.equal(byRank.behind(all.slice(0, 2), cursor), 2)
  const items = ['a', 'b'].map((order) => ({ doc: { order } }))
  t.equal(byOrder.behind(items, byOrder.cursor(items, 2)), 2)
})
