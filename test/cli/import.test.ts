import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { documentTree, yamlText } from '../../src/cli/document/tree.ts'
import { type Started, startService } from '../start.ts'
import { contents } from './documents.ts'
import { exported, file, inside } from './inside.ts'
import { refusal, rollcall, rollcallProcess, standIn } from './service.ts'

const N = '/api/v1/namespaces'
const keysOf = async (service: Started, list: 'flags' | 'segments', namespace = 'default') => {
  const { json } = await service.request<Record<string, readonly { key: string }[]>>('GET', `${N}/${namespace}/${list}`)
  return json[list]!.map(({ key }) => key)
}
/** Answers of flags to entities, without the members that differ each time. */
const said = async (service: Started, namespaceKey: string, flags: readonly string[], entities: readonly string[]) => {
  const contexts = [{}, { plan: 'a', age: '1' }, { plan: 'b', country: 'a', age: '5' }]
  const requests = flags.flatMap((flagKey) =>
    entities.map((entityId, n) => ({ namespaceKey, flagKey, entityId, context: contexts[n % contexts.length] })),
  )
  const { json } = await service.request<{ responses: readonly Record<string, object>[] }>(
    'POST',
    '/evaluate/v1/batch',
    { requests },
  )
  const drop = ['timestamp', 'requestDurationMillis', 'requestId']
  return json.responses.map((each) =>
    JSON.stringify(each, (name, value: unknown) => (drop.includes(name) ? undefined : value)),
  )
}

/** Access of a token with all rights (api.md §5.8). */
const everything = { full: true, publishable: false, places: [{ namespaceKey: '*', rights: ['*'] }] }

const row = (n: number) => `
- key: flag-${n}
  name: Flag ${n}
  enabled: true
  ${n % 2 === 0 ? 'type: BOOLEAN_FLAG_TYPE' : `variants: [{key: a, attachment: {"n":${n}.0}}, {key: b, default: ${n % 10 === 1}}]`}
  ${
    n % 2 === 0
      ? `rollouts: [{segment: {key: segment-${n}, value: true}}, {threshold: {percentage: ${n % 100}, value: true}}]`
      : `rules: [{segment: segment-${n}, distributions: [{variant: a, rollout: 50}]}]`
  }`
const many = (count: number) =>
  `version: 1.4\nflags:${Array.from({ length: count }, (_, n) => row(n)).join('')}\nsegments:${Array.from(
    { length: count },
    (_, n) =>
      `\n- {key: segment-${n}, name: S${n % 4 > 1 ? '' : ', constraints: [{type: STRING_COMPARISON_TYPE, property: plan, operator: eq, value: a}]'}}`,
  ).join('')}\n`

const MANY = 200

await t.test(
  `${MANY} flags and ${MANY} segments keep their bytes and answers when moved between services`,
  async (t) => {
    const [one, other] = [await startService(t), await startService(t)]
    const begun = await inside(one, 'import', file(many(MANY)))
    t.match([begun.exit, begun.err], [0, new RegExp(`Imported: ${MANY * 2} created`)])
    const whole = await exported(one)
    t.equal((await inside(other, 'import', file(whole))).exit, 0)
    t.equal(await exported(other), whole)
    const flags = Array.from({ length: MANY }, (_, n) => `flag-${n}`)
    const entities = fc.sample(fc.string({ maxLength: 8 }), { numRuns: 5, seed: 1 })
    const answers = await said(one, 'default', flags, entities)
    t.strictSame(await said(other, 'default', flags, entities), answers)
    t.ok(
      new Set(answers.map((each) => each.replace(/flag-\d+|segment-\d+/g, ''))).size > 4,
      'they say different things',
    )

    await t.test('an export as of a moment has the state of that moment', async (t) => {
      const { headers } = await one.request('PUT', `${N}/default`, { name: 'Renamed' })
      const before = String(Number(headers['event-position']) - 1)
      t.not(await exported(one), whole)
      t.equal(await exported(one, '--at', before), whole)
    })
  },
)

await t.test('every document exports to the same bytes, through YAML and JSON', async (t) => {
  const services = [await startService(t), await startService(t), await startService(t)] as const
  const [first, second, third] = services
  const lost = (): never => {
    throw new Error('no variant is lost here')
  }
  const documents = fc.sample(contents, { numRuns: 8, seed: Number(process.env['SEED'] ?? 20) })
  const keys = documents.map((_, n) => `ns-${n}`)
  const stream = documents.map((one, n) =>
    yamlText(documentTree({ ...one, namespace: { ...one.namespace, key: keys[n]! } }, lost)),
  )
  const given = await inside(first, 'import', file(stream.join('---\n')))
  t.equal(given.exit, 0, given.err)
  const yaml = await exported(first, '-n', keys.join(','))
  t.equal(yaml, stream.join('---\n'))
  t.equal((await inside(second, 'import', file(yaml))).exit, 0)
  t.equal(await exported(second, '--all-namespaces'), await exported(first, '--all-namespaces'))
  t.equal(
    (await inside(third, 'import', file(await exported(first, '-n', keys.join(','), '--format', 'json')))).exit,
    0,
  )
  t.equal(await exported(third, '-n', keys.join(',')), yaml)
  for (const key of keys) {
    const flags = await keysOf(first, 'flags', key)
    const answers = await said(first, key, flags, ['a', 'b', 'c', 'd'])
    t.strictSame(await said(second, key, flags, ['a', 'b', 'c', 'd']), answers)
    t.strictSame(await said(third, key, flags, ['a', 'b', 'c', 'd']), answers)
  }
})

await t.test('an import reports all problems before its first write', async (t) => {
  const service = await startService(t)
  await service.request('POST', `${N}/default/segments`, { key: 'there', name: 'There' })
  await service.request('POST', `${N}/default/flags`, { key: 'taken', name: 'Taken' })
  /** Exit code, document, and its problems without file and line. */
  const cases: readonly (readonly [number, string, ...string[]])[] = [
    [6, 'flags: [{key: taken, name: x}]', 'flags[0].key: flag "default/taken" is not unique'],
    [6, 'segments: [{key: there, name: x}]', 'segments[0].key: segment "default/there" is not unique'],
    [
      6,
      'flags: [{key: taken, enabled: true, type: ODD}]',
      'flags[0].key: flag "default/taken" is not unique',
      'flags[0].name: must not be empty',
      'flags[0].type: unknown value "ODD"; allowed: VARIANT_FLAG_TYPE, BOOLEAN_FLAG_TYPE',
    ],
    [6, 'flags: [{key: f, name: x}, {key: f, name: x}]', 'flags[1].key: flag "default/f" is not unique'],
    [
      6,
      'flags: [{key: f, name: x, variants: [{key: v}, {key: v}]}]',
      'flags[0].variants[1].key: variant "v" is not unique for flag "default/f"',
    ],
    [
      4,
      'flags: [{key: f, name: x, rules: [{segment: {keys: [no, there, never]}}], rollouts: [{segment: {key: nope}}]}]',
      'flags[0].rules[0].segment: segment "default/no" not found',
      'flags[0].rules[0].segment: segment "default/never" not found',
      'flags[0].rollouts[0].segment: segment "default/nope" not found',
    ],
    [
      4,
      'flags: [{key: f, name: x, rules: [{segment: there, distributions: [{variant: v, rollout: 101}]}]}]',
      'flags[0].rules[0].distributions[0].variant: variant "v" of flag "default/f" not found',
      "flags[0].rules[0].distributions[0].rollout: must be less than or equal to '100'",
    ],
    [
      4,
      'namespace: other\nflags: [{key: f, name: x, rules: [{segment: there}]}]',
      'flags[0].rules[0].segment: segment "other/there" not found',
    ],
    [1, 'flags: [{key: "a b", name: x}]', 'flags[0].key: contains invalid characters'],
    [
      1,
      'flags: [{metadata: {a: [9007199254740993]}}]',
      'flags[0].key: must not be empty',
      'flags[0].name: must not be empty',
      'flags[0].metadata.a[0]: must be an integer of at most 9007199254740991, or text',
    ],
    [1, 'flags: [{key: f, name: x, metadata: 1}]', 'flags[0].metadata: must be an object'],
    [
      1,
      'flags: [{key: f, name: x, rules: [{}, {segment: {keys: [there], operator: XOR}}]}]',
      'flags[0].rules[0].segment: must not be empty',
      'flags[0].rules[1].segment.operator: unknown value "XOR"; allowed: OR_SEGMENT_OPERATOR, AND_SEGMENT_OPERATOR',
    ],
    [
      1,
      'flags: [{key: f, name: x, rules: [{segment: there, rank: 2}, {segment: there}]}]',
      'flags[0].rules[1].rank: rank number: 2 already exists',
    ],
    [
      1,
      'flags: [{key: f, name: x, rules: [{segment: there, rank: -1}]}]',
      'flags[0].rules[0].rank: must be greater than 0',
    ],
    [
      1,
      'flags: [{key: f, name: x, rollouts: [{description: d}, {segment: {key: there}, threshold: {percentage: 1}}]}]',
      'flags[0].rollouts[0]: must have segment or threshold',
      'flags[0].rollouts[1]: only one of segment or threshold can be present',
    ],
    [
      1,
      'flags: [{key: f, name: x, rollouts: [{threshold: {percentage: 101}}]}]',
      'flags[0].rollouts[0].threshold.percentage: must be within range [0, 100]',
    ],
    [
      1,
      'flags: [{key: f, name: x, variants: [{key: a, default: true}, {key: b, default: true}]}]',
      'flags[0].variants[1].default: a flag has at most one default variant',
    ],
    [
      1,
      'flags: [{key: f, name: x, variants: [{key: v}], rules: [{segment: there, distributions: [{variant: v, rollout: 60}, {variant: v, rollout: 60}]}]}]',
      'flags[0].rules[0].distributions: must not exceed 100 in total',
    ],
    [
      1,
      'segments: [{key: s, name: x, match_type: SOME, constraints: [{type: STRING_COMPARISON_TYPE, property: p, operator: lt, value: a}, {type: ODD}]}]',
      'segments[0].match_type: unknown value "SOME"; allowed: ALL_MATCH_TYPE, ANY_MATCH_TYPE',
      'segments[0].constraints[0].operator: constraint operator "lt" is not valid for type string; allowed: eq, neq, empty, notempty, prefix, suffix, isoneof, isnotoneof, contains, notcontains',
      'segments[0].constraints[1].type: unknown value "ODD"; allowed: STRING_COMPARISON_TYPE, NUMBER_COMPARISON_TYPE, BOOLEAN_COMPARISON_TYPE, DATETIME_COMPARISON_TYPE, ENTITY_ID_COMPARISON_TYPE',
      'segments[0].constraints[1].property: must not be empty',
      'segments[0].constraints[1].operator: must not be empty',
    ],
    [
      1,
      'segments: [{key: s, name: x, constraints: [{property: p, operator: eq, value: a}, {}]}]',
      'segments[0].constraints[0].type: must not be empty; allowed: STRING_COMPARISON_TYPE, NUMBER_COMPARISON_TYPE, BOOLEAN_COMPARISON_TYPE, DATETIME_COMPARISON_TYPE, ENTITY_ID_COMPARISON_TYPE',
      'segments[0].constraints[1].property: must not be empty',
      'segments[0].constraints[1].operator: must not be empty',
    ],
    [1, 'namespace: a/b', 'namespace: contains invalid characters'],
    [
      2,
      'flags: [{key: [x], name: "", enabled: maybe}]',
      'flags[0].key: must be text.',
      'flags[0].enabled: must be true or false.',
      'flags[0].name: must not be empty',
    ],
    [2, 'version: 2.0', 'version: unsupported version: 2.0; allowed: 1.0 to 1.6'],
  ]
  const { headers } = await service.request('PUT', `${N}/default`, {
    name: 'Default',
    description: 'Default namespace',
  })
  for (const [exit, yaml, ...problems] of cases) {
    const given = file(`segments: [{key: fresh, name: F}]\n---\n${yaml}\n`)
    const ran = await inside(service, 'import', given)
    t.equal(ran.exit, exit, yaml)
    const line = 3 + yaml.split('\n').length - 1
    const lines = ran.err.replace(/^error: /, '').split('\n')
    const wanted = problems.map((problem) => `${given}:${line}: document 2 ${problem}`)
    t.strictSame(lines.slice(0, wanted.length + 1), [...wanted, 'Nothing is written.'], yaml)
  }
  const several = await inside(service, 'import', file('flags: [{key: taken, name: x}, {key: "!", name: x}]'))
  t.match(several.err, /:1: flags\[0\]\.key: .*is not unique\n.*:1: flags\[1\]\.key: contains[^]*--skip-existing/)
  const after = await service.request('PUT', `${N}/default`, { name: 'Default', description: 'Default namespace' })
  t.equal(after.headers['event-position'], headers['event-position'], 'the log is as long as before')

  const own = await inside(service, 'import', file('flags: [{key: f, name: x}, {key: f, name: x}]'))
  t.notMatch(own.err, /--skip-existing/, 'no option helps against a key that the document has twice')
  const both = [file('flags: [{key: [a]}]'), file('\nflags: [')]
  const unread = await inside({ url: 'http://127.0.0.1:1', token: 'x' }, 'import', ...both)
  t.match([unread.exit, unread.err], [2, /0?\.yml:1: flags\[0\]\.key: must be text\.\n.*\.yml:2: is not valid YAML/])

  t.equal((await inside(service, 'import')).exit, 2)
  t.equal((await inside(service, 'import', file(''), '--stdin')).exit, 2)
  t.equal((await inside(service, 'import', '/nonexistent')).exit, 2)
  t.match(await inside(service, 'import', file(Buffer.from([0x66, 0xff]))), { exit: 2, err: /is not UTF-8/ })
  t.match(await inside(service, 'import', file('flags: [{key: taken, colour: red}]'), '--skip-existing'), {
    exit: 0,
    err: /warning: .*\.yml:1: flags\[0\]\.colour is not defined[^]*1 skipped/,
  })
})

await t.test('the export of another server is imported, as YAML and as JSON, in one or several files', async (t) => {
  const fixture = (end: string) => resolve(import.meta.dirname, `../../../test/cli/fixtures/several-namespaces.${end}`)
  const [yaml, json, several] = [await startService(t), await startService(t), await startService(t)]
  t.match(await inside(yaml, 'import', fixture('yml')), { exit: 0, err: /Imported: 10 created\./ })
  t.equal((await inside(json, 'import', fixture('json'))).exit, 0)
  const [first = '', ...others] = readFileSync(fixture('yml'), 'utf8').split(/^---$/m)
  const files = others.map((document) => file(`\ufeff${document}`))
  t.match(await inside(several, 'import', file(first), ...files, file('flags: [{key: "!"}]')), { exit: 1 })
  t.match(await inside(several, 'import', file(first), ...files), { exit: 0, err: /Imported: 10 created\./ })
  const whole = await exported(yaml, '--all-namespaces')
  for (const text of [
    /percentage: 12\.5\n/,
    /decides\\n# this line is no comment"/,
    /9007199254740993,17\.5/,
    /sunset"?: ?null/,
  ])
    t.match(whole, text)
  const answer = async (context: object) => {
    const asked = { namespaceKey: 'shop', flagKey: 'discount', entityId: 'e', context }
    const { match, segmentKeys } = (await json.request('POST', '/evaluate/v1/variant', asked)).json
    return [match, segmentKeys]
  }
  const regular = { orders: 12, customer: '9007199254740992', newsletter: true, since: '2024-01-01' }
  t.strictSame(await answer(regular), [true, ['regulars']])
  for (const other of [{ orders: 9 }, { customer: '9007199254740993' }, { blocked: '2025-01-01' }, { since: '' }])
    t.strictSame(await answer({ ...regular, ...other }), [false, []], JSON.stringify(other))
  for (const other of [json, several]) t.equal(await exported(other, '--all-namespaces'), whole)
})

await t.test('an import skips or drops existing items as requested, and a dry run only plans', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_TOKEN: service.token, ROLLCALL_ADDRESS: service.url }
  const old = file(
    'segments: [{key: s, name: Old}]\nflags: [{key: f, name: Old, rules: [{segment: s}]}, {key: g, name: Old}]',
  )
  t.equal((await inside(service, 'import', old)).exit, 0)
  const yaml = `namespace: {key: default, name: Mine}
flags: [{key: f, name: New}, {key: h, name: New, rules: [{segment: s}]}]
segments: [{key: s, name: New}, {key: t, name: New}]
---
namespace: team
segments: [{key: s, name: New}]`
  const names = async () =>
    (
      await service.request<{ flags: readonly { key: string; name: string }[] }>('GET', `${N}/default/flags`)
    ).json.flags.map(({ key, name }) => `${key} ${name}`)

  const skipping = await rollcallProcess(['import', '--stdin', '--skip-existing', '--dry-run'], env, yaml)
  t.equal(
    skipping.out,
    '+ namespace team\n~ segment default/s\n+ segment default/t\n+ segment team/s\n~ flag default/f\n+ flag default/h\n',
  )
  t.match([skipping.exit, skipping.err], [0, 'Dry run: 4 created, 2 skipped. Nothing is written.\n'])
  const dropping = await rollcall(['import', '-', '--drop', '--dry-run'], env, yaml)
  t.equal(
    dropping.out,
    '* namespace default: name\n+ namespace team\n* segment default/s: name\n+ segment default/t\n+ segment team/s\n* flag default/f: name, 1 rule deleted\n+ flag default/h\n- flag default/g\n',
  )
  t.match(dropping.err, 'After the import clients get "not found" for 1 flag (-).')
  t.strictSame(await names(), ['f Old', 'g Old'])

  t.match(await rollcall(['import', '--stdin', '--skip-existing'], env, yaml), {
    exit: 0,
    out: '',
    err: /Imported: 4 created, 2 skipped/,
  })
  t.strictSame(await names(), ['f Old', 'g Old', 'h New'])
  t.equal(
    (await service.request('GET', `${N}/default`)).json['name'],
    'Default',
    'an existing namespace is skipped too',
  )
  t.match(await rollcall(['import', file(yaml), '--drop'], env), {
    exit: 2,
    err: /Delete 1 flag or segment\? .*\n.*--yes/,
  })
  t.match(await rollcall(['import', file(yaml), '--drop', '--yes'], env), {
    exit: 0,
    err: /Imported: 3 changed, 3 unchanged, 1 deleted\./,
  })
  t.strictSame(await names(), ['f New', 'h New'])
  t.match((await service.request('GET', `${N}/default`)).json, { name: 'Mine', description: 'Default namespace' })
  const again = await inside(service, 'import', file(yaml), '--skip-existing')
  t.match([again.exit, again.err], [0, /Imported: 5 skipped/])
})

await t.test('an import writes only what the token may write', async (t) => {
  const service = await startService(t)
  await service.request('POST', N, { key: 'shop', name: 'Shop' })
  const { json } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'n',
    namespaceKey: 'shop',
  })
  const bound = { url: service.url, token: json.clientToken }
  t.equal((await inside(bound, 'import', file('namespace: {key: shop, name: S}\nflags: [{key: f, name: F}]'))).exit, 0)
  t.equal((await inside(bound, 'import', file('flags: [{key: f, name: F}]'))).exit, 5)
  t.strictSame([await keysOf(service, 'flags', 'shop'), await keysOf(service, 'flags')], [['f'], []])
  const readOnly = await startService(t, { 'storage.read_only': 'true' })
  t.match(await inside(readOnly, 'import', file('flags: [{key: f, name: F}]')), {
    exit: 1,
    err: /:1: flags\[0\]: .*read-only/,
  })
})

await t.test('an import removes a half-imported item, and sends the reason with each write', async (t) => {
  const service = await standIn(({ method, path }) => {
    if (path.endsWith('/access')) return { body: everything }
    if (method === 'GET' && path.endsWith('s')) return { body: { flags: [], segments: [], nextPageToken: '' } }
    if (path.startsWith('/meta/')) return refusal(403, 7, 'right_missing', 'needs a right')
    if (path.endsWith('/changes')) return refusal(503, 14, 'backend_unavailable', 'service is temporarily unavailable')
    return { body: { id: 'x', name: 'default', description: '' } }
  })
  t.teardown(service.close)
  const yaml = file(
    'segments: [{key: s, name: S}]\nflags: [{key: f, name: F, variants: [{key: "\u001b[31m"}]}]'.replace(
      '\u001b[31m',
      'v',
    ),
  )
  const ran = await inside({ url: service.address, token: 'x' }, 'import', yaml, '--reason', 'Umzug für März')
  t.equal(ran.exit, 7)
  t.match(
    ran.err,
    /flags\[0\]: .*temporarily unavailable\n1 of 2 items imported\. To continue: rollcall import .* --skip-existing/,
  )
  const writes = service.seen.filter(({ method }) => method !== 'GET')
  t.strictSame(
    writes.map(({ method, path }) => `${method} ${path.replace(`${N}/default/`, '')}`),
    ['POST segments', 'POST flags', 'POST flags/f/changes', 'DELETE flags/f'],
  )
  for (const { headers } of writes)
    t.equal(Buffer.from(String(headers['event-reason']), 'latin1').toString(), 'Umzug für März')
  t.equal((await inside({ url: service.address, token: 'x' }, 'import', yaml, '--reason', 'line\nbreak')).exit, 2)
})

await t.test('an import reports an item that it cannot remove; an interrupt stops it between two items', async (t) => {
  let onPost = (): void => {}
  const service = await standIn(({ method, path }) => {
    if (path.endsWith('/access')) return { body: everything }
    if (method === 'GET' && path.endsWith('s')) return { body: { flags: [], segments: [], nextPageToken: '' } }
    if (method === 'POST') onPost()
    if (path.startsWith('/meta/')) return refusal(403, 7, 'right_missing', 'needs a right')
    if (path.endsWith('/changes') || method === 'DELETE') return refusal(503, 14, 'backend_unavailable', 'out of reach')
    return { body: { id: 'x', name: 'default', description: '' } }
  })
  t.teardown(service.close)
  const there = { url: service.address, token: 'x' }
  const half = await inside(there, 'import', file('flags: [{key: f, name: F, variants: [{key: v}]}]'))
  t.match([half.exit, half.err], [7, /flags\[0\]: [^]*The item exists in part, [^]*out of reach/])
  onPost = () => void process.emit('SIGINT')
  const stopped = await inside(there, 'import', file('segments: [{key: s, name: S}, {key: t, name: T}]'))
  t.match(
    [stopped.exit, stopped.err],
    [130, /Stopped: 1 of 2 items imported\. To continue: rollcall import .* --skip-existing\n$/],
  )
})

await t.test('an import warns of shares below 100 %, which some applications read as all', async (t) => {
  const service = await startService(t)
  const rule = (...shares: readonly number[]) =>
    `{segment: s, distributions: [${shares.map((share, n) => `{variant: v${n}, rollout: ${share}}`).join()}]}`
  const rules = [rule(10), rule(50, 50), rule(33.33, 33.33, 33.34), rule(33.3, 33.3, 33.4), rule(), rule(0)]
  const given = file(
    `segments: [{key: s, name: S}]\nflags:\n- {key: f, name: F, variants: [{key: v0}, {key: v1}, {key: v2}], rules: [${rules.join()}]}\n`,
  )
  const { exit, err } = await inside(service, 'import', given, '--dry-run')
  t.equal(exit, 0)
  const warned = [
    ...err.matchAll(/^warning: .*:3: flags\[0\]\.rules\[(\d)\]\.distributions: give ([\d.]+) % together/gm),
  ]
  t.strictSame(
    warned.map(([, n, percent]) => [n, percent]),
    [
      ['0', '10'],
      ['2', '99.9'],
    ],
  )
  t.notMatch((await inside(service, 'import', given, '--dry-run', '--quiet')).err, /warning/)
})

await t.test('the document in the guide can be imported', async (t) => {
  const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/moving-from-another-server.md'), 'utf8')
  const [document = ''] = /^version: "1.4"\n.*?(?=^```$)/ms.exec(guide) ?? []
  const service = await startService(t)
  t.match(await inside(service, 'import', file(document)), { exit: 0, err: /Imported: 4 created\./ })
})
