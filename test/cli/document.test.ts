import { deepStrictEqual as same } from 'node:assert'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { fail } from '../../src/base/failure.ts'
import { documentsIn } from '../../src/cli/document/read.ts'
import { type Contents, documentTree, jsonText, yamlText } from '../../src/cli/document/tree.ts'
import { loadConfig } from '../../src/config/load.ts'
import { blocksRun } from '../work.ts'
import { contents } from './documents.ts'
import { file } from './inside.ts'

const never = (path: string) => t.fail(`${path} is not known`)
const refuse = (message: string): never => fail('usage', message)
const read = (text: string) => documentsIn('f.yml', text, { unknown: never, wrong: refuse })
/** All problems of a text, and the members that are ignored. */
const reported = (text: string) => {
  const [wrong, ignored]: [string[], string[]] = [[], []]
  documentsIn('f.yml', text, { unknown: (place) => void ignored.push(place), wrong: (one) => void wrong.push(one) })
  return { wrong, ignored }
}
const attachment = (yaml: string): unknown => {
  const [document] = read(`flags:\n- key: f\n  variants:\n  - key: v\n    attachment: ${yaml}\n`)
  return (document!.flags[0]!.variants[0]!.body as { attachment?: unknown }).attachment
}
const lost = (): never => {
  throw new Error('no variant is lost here')
}

/** Removes attachments, because JSON lines cannot keep source text that `JSON.stringify` would reformat. */
const withoutAttachments = (one: Contents): Contents => ({
  ...one,
  flags: one.flags.map((each) => ({
    ...each,
    flag: { ...each.flag, variants: each.flag.variants.map((v) => ({ ...v, attachment: '' })) },
  })),
})

await t.test('an import keeps the text of a JSON attachment in a document', async (t) => {
  const written = [
    '{"a":1,"a":2}',
    '{"a": 1.50, "b": [1e2, -0, 1e400]}',
    '"text \\u0041\\/"',
    '12345678901234567890',
    '1.0',
    'null',
    'true',
    '[]',
    `${'['.repeat(5000)}${']'.repeat(5000)}`,
    `{"${'k'.repeat(3000)}":"a: b # c"}`,
  ]
  for (const json of written) t.equal(attachment(json), json, json.slice(0, 40))
  t.equal(attachment('{"a":\n      [1,\n       2]}'), '{"a":\n      [1,\n       2]}', 'over several lines too')
  t.equal(attachment('&x {"a":1,"a":2}'), '{"a":1,"a":2}', 'behind an anchor')
  t.equal(attachment('1.50 # a comment'), '1.50')
})

await t.test('an import converts any other YAML attachment to compact JSON', async (t) => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['{a: 1.50, b: [x, ~]}', '{"a":1.50,"b":["x",null]}'],
    ['\n      a: {b: "c"}\n      list:\n      - 1\n      - yes', '{"a":{"b":"c"},"list":[1,"yes"]}'],
    ['plain text', '"plain text"'],
    ["'null'", '"null"'],
    ['!!str 12', '"12"'],
    ['|\n      {"a": 1}\n', '"{\\"a\\": 1}\\n"'],
    ['0x10', '16'],
    ['{1: one}', '{"1":"one"}'],
    ['~', 'null'],
    ['', undefined],
  ]
  for (const [yaml, json] of cases) t.equal(attachment(yaml), json, yaml)
  for (const yaml of ['.nan', '{a: .inf}', '{? [a] : 1}', '{a: 1, b: 2, a: 3}', '*nobody'])
    t.throws(() => attachment(yaml), yaml)
})

await t.test('an import keeps a text unchanged that only looks like a JSON attachment', async (t) => {
  const [document] = read(
    'flags:\n- key: f\n  description: |\n    attachment: {"a": 1}\n    - attachment: [2],\n  name: n\n',
  )
  t.equal(document!.flags[0]!.body.description, 'attachment: {"a": 1}\n- attachment: [2],\n')
  const [other] = read('flags:\n- key: f\n  metadata:\n    attachment: {"a": 1}\n')
  t.strictSame(other!.flags[0]!.body.metadata, { attachment: { a: 1 } })
})

await t.test('an import reads a stream, an object, an array or lines of JSON', async (t) => {
  const keys = (text: string) =>
    read(text).map(({ namespace, flags }) => [namespace.body.key, ...flags.map(({ body }) => body.key)])
  const one = '{"namespace":"a","flags":[{"key":"f"}]}'
  const two = '{"namespace":{"key":"b"}}'
  t.strictSame(keys('namespace: a\nflags: [{key: f}]\n---\nnamespace: {key: b}\n---\n'), [['a', 'f'], ['b']])
  t.strictSame(keys(one), [['a', 'f']])
  t.strictSame(keys(`\ufeff${one}\n`), [['a', 'f']])
  t.strictSame(keys(`[${one},\n\t${two}]`), [['a', 'f'], ['b']])
  t.strictSame(keys(`${one}\n${two}\r\n\n`), [['a', 'f'], ['b']])
  t.strictSame(keys('{\n\t"namespace":\t"a"\n}'), [['a']])
  t.strictSame(keys(''), [])
  t.strictSame(keys('flags: []'), [['default']])
  t.strictSame(keys('# nothing\n---\nversion: 1.2'), [['default']])
})

await t.test('an import reads documents that other tools have joined, indented or commented', async (t) => {
  const keys = (text: string) =>
    read(text).map(({ namespace, flags }) => [namespace.body.key, ...flags.map(({ body }) => body.key)])
  const both = [['a', 'f"{'], ['b']]
  const one = { namespace: 'a', flags: [{ key: 'f"{', description: '} # \\' }] }
  const two = { namespace: { key: 'b' } }
  for (const space of ['  ', '\t', undefined]) {
    const [a, b] = [JSON.stringify(one, null, space), JSON.stringify(two, null, space)]
    for (const joined of [
      `# exported\n\n${a}\n${b}\n`,
      `${a}${b}`,
      `${a} # one\r\n# two\r\n\ufeff[${b}]`,
      `\ufeff${a}\n\ufeff${b}`,
    ])
      t.strictSame(keys(joined), both, JSON.stringify(joined))
    t.strictSame(keys(`# exported\n${a}`), [both[0]])
  }
  t.strictSame(keys('namespace: a\n---\n\ufeffnamespace: b\nflags: [{key: f}]\n\ufeff---\nnamespace: c'), [
    ['a'],
    ['b', 'f'],
    ['c'],
  ])
  t.throws(() => read('{"namespace":"a"}\n{"namespace":"b"'), { message: /is not valid YAML/, kind: 'usage' })
})

await t.test('an import reads lists of values as YAML lists', async (t) => {
  const value = (type: string, yaml: string) =>
    read(`segments:\n- constraints:\n  - {type: ${type}_COMPARISON_TYPE, value: ${yaml}}`)[0]!.segments[0]!
      .constraints[0]!.body.value
  t.equal(value('STRING', '[de, 10, "true", ~, é]'), '["de","10","true","","é"]')
  t.equal(value('ENTITY_ID', '[]'), '[]')
  t.equal(value('NUMBER', '[1, 2.50, 9007199254740993]'), '[1,2.50,9007199254740993]')
  t.equal(value('NUMBER', "'[1]'"), '[1]')
  t.throws(() => value('STRING', '[{a: b}]'), { message: /must be text/ })
})

await t.test('an import refuses a member at the top of a document that it does not read', async (t) => {
  for (const [name, hint] of [
    ['namespaces', 'did you mean namespace?'],
    ['name_space', 'did you mean namespace?'],
    ['flag', 'did you mean flags?'],
    ['colour', 'version, namespace, flags, segments\\.'],
  ])
    t.throws(() => read(`namespace: a\n---\n${name}: b\n`), {
      message: new RegExp(`^f\\.yml:3: document 2 ${name}: .*${hint}`),
      kind: 'usage',
    })
  t.same(reported('x-base: &b {name: n}\n.other: 1\nflags: [{<<: *b, key: f}]'), { wrong: [], ignored: [] })
})

await t.test('an import reads document versions 1 and 1.0 to 1.6 as text or number, and no other', async (t) => {
  for (const version of ['1.0', '"1.1"', '1.2', "'1.3'", '1.4', '1.5', '"1.6"', '1', 'v1', 'v1.2'])
    t.equal(read(`version: ${version}`).length, 1, version)
  t.equal(read('{"version": 1.0}').length, 1)
  for (const version of ['1.7', '1.10', '2.0', 'v2', '1.4.0', 'vv1']) {
    t.throws(() => read(`version: ${version}`), {
      message: `f.yml:1: version: unsupported version: ${version}; allowed: 1.0 to 1.6`,
      kind: 'usage',
    })
  }
  t.throws(() => read('version: [1]'), { message: 'f.yml:1: version: must be text.' })
  t.throws(() => read('version: 1.4\n---\nversion: 9\n'), {
    message: /^f\.yml:3: document 2 version: unsupported version: 9/,
  })
})

await t.test('an import reads unquoted texts, segments by key or keys, and YAML anchors and merges', async (t) => {
  const [document] = read(`
segments:
- {key: 10, name: true, constraints: [{type: NUMBER_COMPARISON_TYPE, property: p, operator: eq, value: 1.50}]}
flags:
- &base
  key: a
  name: 2026-01-01
  rules:
  - {segment: s, rank: 3}
  - segment: {key: s}
  - segment: {keys: [s, t], operator: AND_SEGMENT_OPERATOR}
  rollouts:
  - segment: {keys: [s], value: true}
  - {description: half, threshold: {percentage: 50.5}}
- <<: *base
  key: b
`)
  const [segment] = document!.segments
  t.match(segment, {
    path: 'f.yml:3: segments[0]',
    body: { key: '10', name: 'true' },
    constraints: [{ body: { value: '1.50' } }],
  })
  const [a, b] = document!.flags
  t.match(a, {
    body: { name: '2026-01-01' },
    rules: [
      { segments: ['s'], rank: 3 },
      { segments: ['s'], rank: undefined },
      { segments: ['s', 't'], body: { segmentOperator: 'AND_SEGMENT_OPERATOR' } },
    ],
    rollouts: [
      { segments: ['s'], body: { segment: { segmentKeys: ['s'], value: true } } },
      { body: { description: 'half', threshold: { percentage: 50.5, value: false } } },
    ],
  })
  t.strictSame([b!.body.key, b!.rules.map(({ segments }) => segments)], ['b', a!.rules.map(({ segments }) => segments)])
})

await t.test('an import reports each problem with its place in the document', async (t) => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ['flags: {a: 1}', '1: flags: must be a list.'],
    ['flags:\n- key: [a]', '2: flags[0].key: must be text.'],
    ['flags:\n- key: a\n  enabled: "true"', '3: flags[0].enabled: must be true or false.'],
    ['flags:\n- key: a\n  key: b', '3: flags[0].key: is given twice; the first is in line 2.'],
    ['namespace: a\n\nnamespace: b', '3: namespace: is given twice; the first is in line 1.'],
    [
      '{"namespace":"a"}\n{"flags":[{\n"key":"a","key":"b"}]}',
      '3: document 2 flags[0].key: is given twice; the first is in line 3.',
    ],
    [
      'flags:\n- rules:\n  - segment: {key: a, keys: [b]}',
      '3: flags[0].rules[0].segment: must have either key or keys.',
    ],
    ['namespace: [n]', '1: namespace: must be text or a mapping.'],
    ['namespace: {key: [n]}', '1: namespace.key: must be text.'],
    [
      'flags:\n- rules: [{segment: [a, b]}]\n  rollouts: [{segment: [a]}, {segment: {key: [a]}}]',
      '2: flags[0].rules[0].segment: must be text or a mapping.',
      '3: flags[0].rollouts[0].segment: must be text or a mapping.',
      '3: flags[0].rollouts[1].segment.key: must be text.',
    ],
    ['segments:\n- constraints: [{value: {a: 1}}]', '2: segments[0].constraints[0].value: must be text or a list.'],
    ['x-a: b\n---\nsegments:\n- 7', '4: document 2 segments[0]: must be a mapping.'],
    ['just text', '1: must be a mapping.'],
    ['flags: &a [*a]', '1: flags[0]: must be a mapping.'],
    [
      'segments:\n- {key: s, matchType: ANY_MATCH_TYPE}',
      '2: segments[0].matchType: is not defined (did you mean match_type?).',
    ],
    [
      'flags:\n- key: [a]\n  enabeld: true\n  rollouts:\n  - threshold: {percentage: {}, value: 1}\n  variants: 7\nsegments: x\n',
      '3: flags[0].enabeld: is not defined (did you mean enabled?).',
      '2: flags[0].key: must be text.',
      '6: flags[0].variants: must be a list.',
      '5: flags[0].rollouts[0].threshold.percentage: must be a number.',
      '5: flags[0].rollouts[0].threshold.value: must be true or false.',
      '7: segments: must be a list.',
    ],
  ]
  for (const [yaml, ...wrong] of cases)
    t.strictSame(
      reported(yaml).wrong,
      wrong.map((each) => `f.yml:${each}`),
      yaml,
    )
  t.match(reported('flags:\n- &a\n  <<: *a').wrong, [/^f\.yml:3: flags\[0\]\.<<[^ ]+: is merged into itself\.$/])
  t.match(reported('flags:\n- metadata: &a {b: *a}').wrong, [
    /^f\.yml:2: flags\[0\]\.metadata[^ ]+: contains itself\.$/,
  ])
  t.match(reported('flags: [').wrong, [/^f\.yml:1: is not valid YAML/])
  t.match(reported('a: b\nc: "').wrong, [/^f\.yml:2: is not valid YAML/])
  t.strictSame(reported('flags:\n- {key: a, colour: red}'), { wrong: [], ignored: ['f.yml:2: flags[0].colour'] })
})

await t.test('an import refuses hostile documents at once', async (t) => {
  const names = [...'abcdefghij']
  const bomb = names
    .map((name, n) => `x-${name}: &${name} [${`${n === 0 ? '"lol"' : `*${names[n - 1]}`},`.repeat(10)}]`)
    .join('\n')
  /**
   * Each with the maximum number of blocks executed before the refusal: deep, expanding or long documents are not read
   * to the end.
   */
  const hostile = [
    [`${bomb}\nflags:\n- metadata: {x: *j}\n`, 40_000_000, /too much/],
    [`a: ${'['.repeat(100_000)}`, 10_000, /nested deeper/],
    [`a: ${'{a: '.repeat(100_000)}`, 30_000, /nested deeper/],
    ['- '.repeat(100_000), 10_000, /nested deeper/],
    [`x-big: &b "${'x'.repeat(100_000)}"\nflags:\n- metadata: {x: [${'*b,'.repeat(2000)}]}`, 600_000, /too much/],
    [`a: [${'1,'.repeat(1_500_000)}]`, 80_000_000, /too large/],
  ] as const
  for (const [yaml, most, message] of hostile) {
    let refused: unknown
    const blocks = blocksRun(() => {
      try {
        documentsIn('f.yml', yaml, { unknown: () => {}, wrong: refuse })
      } catch (error) {
        refused = error
      }
    })
    t.match(refused, { message, kind: 'usage' }, yaml.slice(0, 40))
    t.ok(blocks <= most, `${yaml.length} characters took ${blocks} blocks`)
  }
})

await t.test('an import reads back every exported document, in each format', async () => {
  fc.assert(
    fc.property(fc.array(contents, { minLength: 1, maxLength: 3 }), (all) => {
      const trees = all.map((one) => documentTree(one, lost))
      const yaml = read(trees.map(yamlText).join('---\n'))
      const plain = (documents: unknown) =>
        JSON.parse(JSON.stringify(documents, (name, value: unknown) => (name === 'path' ? undefined : value)))
      same(plain(read(jsonText(trees))), plain(yaml))
      const lines = all.map((one) => JSON.stringify(JSON.parse(jsonText(documentTree(withoutAttachments(one), lost)))))
      const light = all.map((one) => yamlText(documentTree(withoutAttachments(one), lost)))
      same(plain(read(lines.join('\n'))), plain(read(light.join('---\n'))))

      for (const [n, { namespace, flags, segments }] of all.entries()) {
        const document = yaml[n]!
        same(document.namespace.body, { key: namespace.key, name: namespace.name, description: namespace.description })
        same(
          document.flags.map(({ body }) => [
            body.key,
            body.name,
            body.description ?? '',
            body.enabled,
            body.type,
            body.metadata ?? {},
          ]),
          flags.map(({ flag }) => [
            flag.key,
            flag.name,
            flag.description,
            flag.enabled,
            flag.type,
            JSON.parse(JSON.stringify(flag.metadata)),
          ]),
        )
        same(
          document.flags.flatMap(({ variants }) =>
            variants.map(({ body }) => (body as { attachment?: string }).attachment ?? ''),
          ),
          flags.flatMap(({ flag }) => flag.variants.map(({ attachment }) => attachment)),
        )
        same(
          document.segments.map(({ constraints }) =>
            constraints.map(({ body }) => (body as { value?: string }).value ?? ''),
          ),
          segments.map(({ constraints }) => constraints.map(({ value }) => value)),
        )
      }
    }),
    { numRuns: 60 },
  )
})

await t.test('the migration guide shows a valid configuration and a valid document', async (t) => {
  const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/moving-from-another-server.md'), 'utf8')
  const [configuration = '', document = '', ...others] = [...guide.matchAll(/^```yaml\n(.*?)^```$/gms)].map(
    ([, yaml]) => yaml!,
  )
  t.strictSame(others, [])
  const { config, warnings } = loadConfig({ file: file(configuration), env: {} })
  t.match(
    [config.identifiers, warnings],
    [{ service: 'acme', codehost: 'forge', orchestrator: 'fleet', orchestrator_metadata: 'fl' }, []],
  )
  t.match(read(document), [
    {
      namespace: { body: { key: 'default', name: 'Default' } },
      flags: [{ rollouts: [{}, {}] }, { variants: [{}, {}] }],
      segments: [{}, {}],
    },
  ])
})
