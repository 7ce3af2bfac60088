import { readFileSync } from 'node:fs'
import t from 'tap'
import { startService } from '../start.ts'
import { exported, file, inside } from './inside.ts'
import { rollcall, standIn } from './service.ts'

const N = '/api/v1/namespaces'

await t.test('an export contains everything and leaves out empty fields', async (t) => {
  const service = await startService(t)
  const post = async (path: string, body: object) => (await service.request<{ id: string }>('POST', path, body)).json.id
  await post(N, { key: 'shop', name: 'Shop' })
  const root = `${N}/shop`
  await post(`${root}/segments`, { key: 'zed', name: 'yes', matchType: 'ANY_MATCH_TYPE' })
  await post(`${root}/segments`, { key: 'abe', name: 'Abe', description: 'a: b\nc' })
  const constraint = {
    type: 'STRING_COMPARISON_TYPE',
    property: 'plan',
    operator: 'eq',
    value: '10',
    description: 'ten',
  }
  await post(`${root}/segments/abe/constraints`, constraint)
  await post(`${root}/segments/abe/constraints`, { ...constraint, operator: 'empty', value: '', description: '' })
  await post(`${root}/flags`, { key: 'f', name: 'F', enabled: true, metadata: { owner: 'me' } })
  const y = await post(`${root}/flags/f/variants`, { key: 'y', attachment: ' {"b": 1.0, "b": [null]} ' })
  const x = await post(`${root}/flags/f/variants`, { key: 'x', name: 'X', description: 'last' })
  await service.request('PUT', `${root}/flags/f`, { name: 'F', enabled: true, defaultVariantId: x })
  const rule = await post(`${root}/flags/f/rules`, { segmentKey: 'zed' })
  await post(`${root}/flags/f/rules/${rule}/distributions`, { variantId: y, rollout: 33.33 })
  await post(`${root}/flags/f/rules`, { segmentKeys: ['zed', 'abe'], segmentOperator: 'AND_SEGMENT_OPERATOR', rank: 7 })
  await post(`${root}/flags`, { key: 'b', name: 'B', type: 'BOOLEAN_FLAG_TYPE' })
  await post(`${root}/flags/b/rollouts`, { segment: { segmentKey: 'abe', value: true }, description: 'some' })
  await post(`${root}/flags/b/rollouts`, { segment: { segmentKeys: ['abe', 'zed'] } })
  await post(`${root}/flags/b/rollouts`, { threshold: { percentage: 0.5, value: true } })

  const yaml = await exported(service, '--namespaces', 'shop')
  t.equal(
    yaml,
    `version: "1.4"
namespace:
  key: shop
  name: Shop
  description: ""
flags:
  - key: f
    name: F
    type: VARIANT_FLAG_TYPE
    enabled: true
    metadata: {"owner":"me"}
    variants:
      - key: "y"
        attachment: {"b":1.0,"b":[null]}
      - default: true
        key: x
        name: X
        description: last
    rules:
      - segment: zed
        distributions:
          - variant: "y"
            rollout: 33.33
      - segment:
          keys:
            - zed
            - abe
          operator: AND_SEGMENT_OPERATOR
        rank: 7
  - key: b
    name: B
    type: BOOLEAN_FLAG_TYPE
    enabled: false
    rollouts:
      - description: some
        segment:
          key: abe
          value: true
      - segment:
          keys:
            - abe
            - zed
      - threshold:
          percentage: 0.5
          value: true
segments:
  - key: zed
    name: "yes"
    match_type: ANY_MATCH_TYPE
  - key: abe
    name: Abe
    description: "a: b\\nc"
    match_type: ALL_MATCH_TYPE
    constraints:
      - type: STRING_COMPARISON_TYPE
        property: plan
        operator: eq
        value: "10"
        description: ten
      - type: STRING_COMPARISON_TYPE
        property: plan
        operator: empty
`,
  )
  t.equal(await exported(service, '-n', 'shop'), yaml, 'the same state gives the same bytes')

  await t.test('an export can be JSON, of several or all namespaces or of a past moment, sorted by key', async (t) => {
    const sorted = await exported(service, '-n', 'shop', '--sort-by-key')
    t.strictSame(
      sorted.match(/^ {2}- key: .*|^ {6}(?:- | {2})key: .*/gm)?.map((line) => line.slice(-2).trim()),
      ['b', 'f', 'x', 'y"', 'be', 'ed'].map((end) => end.slice(-2)),
    ) // prettier-ignore
    const json = file('', 'json')
    t.equal((await inside(service, 'export', '-o', json, '-n', 'shop')).exit, 0)
    t.match(
      readFileSync(json, 'utf8'),
      '"attachment": {"b":1.0,"b":[null]}',
      'the source of an attachment stands in JSON too',
    )
    t.match(JSON.parse(readFileSync(json, 'utf8')), {
      version: '1.4',
      namespace: { key: 'shop' },
      flags: [{ key: 'f' }, { key: 'b' }],
    })
    const both = await exported(service, '--namespaces', 'shop,default,shop')
    t.equal(both, `${yaml}---\n${await exported(service)}`)
    t.equal(
      await exported(service, '--all-namespaces'),
      `${await exported(service)}---\n${yaml}`,
      'in the order of the list',
    )
    t.match(JSON.parse(await exported(service, '--all-namespaces', '--format', 'json')), [
      { namespace: { key: 'default' } },
      { flags: [{}, {}] },
    ])

    await service.request('DELETE', `${root}/flags/f`)
    t.notMatch(await exported(service, '-n', 'shop'), 'key: f')
    const { headers } = await service.request('POST', `${N}/shop/flags`, { key: 'later', name: 'L' })
    t.match(
      await exported(service, '-n', 'shop', '--at', `#${Number(headers['event-position']) - 2}`),
      'key: later'.slice(0, 3),
    )
    t.equal((await inside(service, 'export', '-n', 'shop', '--at', 'soon')).exit, 2)
  })

  await t.test('an export contains only what the token may read', async (t) => {
    const { json } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
      name: 'n',
      namespaceKey: 'shop',
    })
    const bound = { url: service.url, token: json.clientToken }
    const out = file('', 'out')
    t.equal((await inside(bound, 'export', '-o', out, '-n', 'shop')).exit, 0)
    t.equal((await inside(bound, 'export', '-o', out)).exit, 5)
    t.equal((await inside(bound, 'export', '-o', out, '--all-namespaces')).exit, 5)
    const missing = await inside(service, 'export', '-o', out, '-n', 'none')
    t.match([missing.exit, missing.err], [4, /namespace "none" not found/])
    t.equal((await inside(service, 'export', '--all-namespaces', '-n', 'shop')).exit, 2)
    t.equal((await inside(service, 'export', '-o', '/nonexistent/x.yml')).exit, 1)
    t.equal((await inside({ url: 'http://127.0.0.1:1', token: 'x' }, 'export')).exit, 7)
  })

  await t.test('an export of no namespace is refused, and the file keeps its content', async (t) => {
    const out = file('kept', 'yml')
    for (const list of ['', ',', ' ', 'shop,', 'shop,,default']) {
      const { exit, err } = await inside(service, 'export', '-n', list, '-o', out)
      t.match([exit, err], [2, /Expected names, separated by commas/], JSON.stringify(list))
      t.equal((await inside(service, 'export', '-n', list)).exit, 2)
    }
    t.equal(readFileSync(out, 'utf8'), 'kept')
    t.equal(await exported(service, '-n', ' shop , default'), await exported(service, '-n', 'shop,default'))
  })

  await t.test('an export without a file writes only the document to standard output', async (t) => {
    const { exit, out, err } = await rollcall(['export', '--address', service.url], { ROLLCALL_TOKEN: service.token })
    t.strictSame(
      [exit, out, err],
      [0, 'version: "1.4"\nnamespace:\n  key: default\n  name: Default\n  description: Default namespace\n', ''],
    )
  })
})

await t.test('an export reads lists page by page, and reports a flag that changes during it', async (t) => {
  const flags = Array.from({ length: 5 }, (_, n) => ({
    key: `f${n}`,
    name: 'n',
    type: 'VARIANT_FLAG_TYPE',
    description: '',
    enabled: true,
  }))
  let distributions: readonly object[] = []
  const service = await standIn(({ path, query }) => {
    if (path.endsWith('/default')) return { body: { key: 'default', name: 'D', description: '' } }
    if (path.endsWith('/segments')) return { body: { segments: [], nextPageToken: '' } }
    const rules = [
      { id: 'r', rank: 1, segmentKey: 's', segmentKeys: [], segmentOperator: 'OR_SEGMENT_OPERATOR', distributions },
    ]
    if (/(rules|rollouts)$/.test(path))
      return { body: { rules: path.endsWith('rules') ? rules : [], rollouts: [], nextPageToken: '' } }
    const from = Number(query.get('pageToken') ?? 0)
    const page = flags
      .slice(from, from + 2)
      .map((flag) => ({ ...flag, namespaceKey: 'default', metadata: {}, variants: [] }))
    return { body: { flags: page, nextPageToken: from + 2 < flags.length ? String(from + 2) : '' } }
  })
  t.teardown(service.close)
  const { exit, out } = await rollcall(['export', '--address', service.address])
  t.equal(exit, 0)
  t.strictSame(
    out.match(/f\d/g),
    flags.map(({ key }) => key),
  )
  distributions = [{ variantId: 'gone', rollout: 1 }]
  const torn = await rollcall(['export', '--address', service.address])
  t.match([torn.exit, torn.out, torn.err], [6, '', /flag "default\/f0" was changed during the export/])
})
