import fc from 'fast-check'
import t from 'tap'
import { onCluster } from '../../cluster/own.ts'
import { isLate, ownFaults } from '../../late-servers.ts'
import { startService } from '../../start.ts'
import { creator } from './refusals.ts'

const members = [
  'key',
  'name',
  'description',
  'enabled',
  'type',
  'metadata',
  'defaultVariantId',
  'attachment',
  'segmentKey',
  'segmentKeys',
  'segment_keys',
  'segmentOperator',
  'rank',
  'variantId',
  'rollout',
  'segment',
  'threshold',
  'percentage',
  'value',
  'property',
  'operator',
  'matchType',
  'ruleIds',
  'rolloutIds',
  '__proto__',
]
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    'f',
    's',
    'v',
    'isoneof',
    'eq',
    '[1,null]',
    'STRING_COMPARISON_TYPE',
    0,
    1,
    4,
    5,
    -0,
    1e300,
    2 ** 31,
    50.5,
    '٣',
    '\0',
    '\ud800',
  ),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.double(),
  fc.array(fc.constantFrom('s', 'f', '', 'x'), { maxLength: 4 }),
)
const body = fc.dictionary(
  fc.constantFrom(...members),
  fc.oneof(leaf, fc.dictionary(fc.constantFrom(...members), leaf, { maxKeys: 4 })),
  {
    maxKeys: 8,
  },
)
const word = fc.oneof(
  fc.constantFrom(
    'f',
    's',
    'default',
    'order',
    'none',
    '__proto__',
    'a+b',
    'default+f',
    '%00',
    '%F0%9F%98%80',
    '*',
    '',
    '..',
    '%2e',
    '$all',
    '%',
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map(encodeURIComponent),
  fc.constant('k'.repeat(5000)),
)
const templates = [
  'namespaces',
  'namespaces/?',
  'namespaces/?/flags',
  'flags',
  'flags/?',
  'flags/?/variants',
  'flags/?/variants/?',
  'flags/?/rules',
  'flags/?/rules/?',
  'flags/?/rules/order',
  'flags/?/rules/?/distributions',
  'flags/?/rules/?/distributions/?',
  'namespaces/?/flags/?/rollouts',
  'namespaces/?/flags/?/rollouts/?',
  'namespaces/?/flags/?/rollouts/order',
  'segments',
  'segments/?',
  'segments/?/constraints',
  'segments/?/constraints/?',
]
const query = fc.constantFrom(
  '',
  '',
  '?force=true',
  '?variantId=v',
  '?at=1',
  '?limit=1&offset=1',
  '?pageToken=x.y',
  '?at=%00',
  '?limit=%',
  '?variantId',
)
const headers = fc.constantFrom(
  {},
  {},
  { 'if-match': '"1"' },
  { 'if-match': '*' },
  { 'if-none-match': '*' },
  { 'idempotency-key': 'k' },
)

await t.test('no request gets a 5xx, and every refusal has the usual form', async (t) => {
  const { request, logged } = await startService(t)
  const create = creator({ request })
  await create(t, '/api/v1/flags', { key: 'f', name: 'F' })
  await create(t, '/api/v1/segments', { key: 's', name: 'S' })
  const statuses = new Map<number, number>()
  const ask = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
    template: fc.constantFrom(...templates),
    words: fc.array(word, { minLength: 4, maxLength: 4 }),
    query,
    headers,
    body,
  })
  await fc.assert(
    fc.asyncProperty(ask, async ({ method, template, words, query, headers, body }) => {
      let n = 0
      const path = `/api/v1/${template.replaceAll('?', () => words[n++] ?? '')}${query}`
      const answer = await request(method, path, body, headers)
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer.status >= 500 && !(onCluster && isLate(answer)))
        throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`)
      if (answer.status >= 400 && typeof answer.json['message'] !== 'string')
        throw new Error(`${method} ${path}: ${answer.text}`)
    }),
    { numRuns: 600 },
  )
  t.ok(
    statuses.get(200) && statuses.get(400) && statuses.get(404),
    `they were answered ${JSON.stringify([...statuses])}`,
  )
  t.strictSame(ownFaults(await logged()), [])
})
