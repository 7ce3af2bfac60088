import fc from 'fast-check'
import t from 'tap'
import { catalog } from '../../src/events/catalog.ts'
import { type AnyEvent, type Shapes, typeName, wireName } from '../../src/events/define.ts'
import type { About } from '../../src/events/fields.ts'
import { summaryOf } from '../../src/events/summary.ts'
import { anyEvent } from '../arbitrary.ts'

const categories: readonly (readonly [string, Shapes])[] = Object.entries(catalog)
const categoryOf = new Map(
  categories.flatMap(([category, shapes]) =>
    Object.entries(shapes).flatMap(([type, { formerly = type }]) => [
      [type, category] as const,
      [formerly, category] as const,
    ]),
  ),
)
const of = (wire: string, data: unknown): string =>
  summaryOf({ category: categoryOf.get(typeName(wire))!, type: wire, data })

const id = '5d1c3a70-8f2e-4b6d-9a10-000000000001'
const time = '2026-12-01T00:00:00.000Z'
const flag = { namespace: 'default', key: 'checkout', incarnation: id }
const issued = { id, digest: 'ab12cd34.AAAA', issuedAt: '2026-11-03T13:02:11.250Z', metadata: {}, attributes: {} }
const staticToken = { ...issued, method: 'token', attributes: { 'token.name': 'ci' } }
const login = { ...issued, method: 'oidc', provider: 'acme', expiresAt: time }
const editor = { place: 'shop', role: 'editor' }
const rights = { place: '*', rights: ['flag.read', 'flag.update'] }
const refused = { reason: 'credential_invalid', refusedAt: time, route: '/api/v1/namespaces', requestId: 'r', more: 0 }
const rollout = { id, description: '', rank: 1, value: true }
const use = (segment: string) => ({ segment, reservation: id })

const sentences: readonly (readonly [string, object, string])[] = [
  [
    'TokenIssued',
    { ...staticToken, namespace: 'shop', expiresAt: time },
    'static token "ci" issued for namespace shop, expires 2026-12-01T00:00:00.000Z',
  ],
  ['TokenIssued', staticToken, 'static token "ci" issued for every namespace, never expires'],
  [
    'TokenIssued.v2',
    { ...staticToken, grants: [editor, rights] },
    'static token "ci" issued with editor in shop, 2 rights in every namespace, never expires',
  ],
  [
    'TokenIssued.v2',
    { ...staticToken, namespace: 'shop', grants: [{ place: 'shop', role: 'viewer' }] },
    'static token "ci" issued for namespace shop with viewer in shop, never expires',
  ],
  [
    'TokenIssued.v2',
    { ...staticToken, grants: [editor, { place: 'a', rights: ['flag.read'] }, rights, editor, editor] },
    'static token "ci" issued with editor in shop, 1 right in a, 2 rights in every namespace and 2 more, never expires',
  ],
  ['TokenIssued.v2', { ...staticToken, grants: [] }, 'static token "ci" issued with no rights, never expires'],
  ['TokenIssued', { ...issued, method: 'token' }, 'static token issued for every namespace, never expires'],
  ['TokenIssued', { ...staticToken, bootstrap: true }, 'bootstrap token issued, never expires'],
  ['TokenIssued', login, `login through acme: session issued, expires ${time}`],
  [
    'TokenIssued.v2',
    { ...login, grants: [editor] },
    `login through acme: session issued with editor in shop, expires ${time}`,
  ],
  [
    'TokenIssued',
    { ...issued, method: 'codehost', expiresAt: time },
    `login through the code host: session issued, expires ${time}`,
  ],
  [
    'TokenIssued',
    { ...issued, method: 'orchestrator', identity: 'shop/cart', expiresAt: time },
    `service account shop/cart exchanged: token issued, expires ${time}`,
  ],
  [
    'TokenIssued.v2',
    {
      ...issued,
      method: 'orchestrator',
      attributes: { 'orchestrator.namespace': 'shop', 'orchestrator.serviceaccount.name': 'cart' },
      grants: [editor],
      expiresAt: time,
    },
    `service account shop/cart exchanged: token issued with editor in shop, expires ${time}`,
  ],
  ['TokenRevoked', { id }, `token ${id} deleted`],
  ['TokenRevoked', { id, provider: 'acme' }, `token ${id} deleted because acme signed the person out`],
  [
    'ProviderLogoutReceived',
    { jti: 'jti-1', provider: 'acme', issuedAt: time, subject: 'person-1', identity: 'sub-1' },
    `acme signed person-1 out at ${time}`,
  ],
  [
    'ProviderLogoutReceived',
    { jti: 'jti-1', provider: 'acme', issuedAt: time, session: 'sid-1' },
    `acme signed a session out at ${time}`,
  ],
  ['ProviderLogoutCompleted', { jti: 'jti-1', provider: 'acme', sessions: 1 }, 'sign-out at acme ended 1 session'],
  ['TokenExpired', { id, expiresAt: time }, `token ${id} cleaned up after its expiry at ${time}`],
  ['TokenExpiryChanged', { id, to: time }, `token ${id}: expiry changed from never to ${time}`],
  [
    'LoginStarted',
    {
      expiresAt: '2026-01-02T03:14:05.678Z',
      login: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      method: 'codehost',
      startedAt: '2026-01-02T03:04:05.678Z',
    },
    'login through the code host started at 2026-01-02T03:04:05.678Z',
  ],
  [
    'SigningKeyChanged',
    {
      compromised: true,
      from: 'rollcall.example/audit/v1/ledger/0a1b2c3d+b04aa51c+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs',
      ledger: '0a1b2c3d',
      to: 'rollcall.example/audit/v1/ledger/0a1b2c3d+00c1a2b3+AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAh',
    },
    'signing key of ledger 0a1b2c3d changed, because it may be known to others',
  ],
  [
    'HistoryExported',
    { filter: { namespaceKey: 'shop' }, format: 'ndjson', fromIndex: 0, personal: true },
    'history exported as ndjson, from index 0, with personal data',
  ],
  [
    'VariantRemoved',
    { ...flag, variant: id, wasDefault: false, distributions: [] },
    `flag default/checkout: variant ${id} removed`,
  ],
  ['LoginRefused', { login: 'digest', reason: 'state_mismatch' }, 'login refused: state_mismatch'],
  [
    'AuthenticationRefused',
    { ...refused, route: '/api/v1/namespaces/:namespaceKey/flags', more: 3 },
    'refused: credential_invalid at /api/v1/namespaces/:namespaceKey/flags, 3 more like it',
  ],
  ['AuthenticationRefused', refused, 'refused: credential_invalid at /api/v1/namespaces'],
  ['AuthenticationRefused', { ...refused, route: '' }, 'refused: credential_invalid at an unknown route'],
  [
    'RefusalsSummarised',
    { from: 'A', to: 'B', total: 57, byReason: {}, byRoute: {}, subject: 's', networks: 'n' },
    '57 requests refused between A and B',
  ],
  ['FlagUpdated', { ...flag, enabled: { from: false, to: true } }, 'flag default/checkout switched on'],
  ['FlagUpdated', { ...flag, enabled: { from: true, to: false } }, 'flag default/checkout switched off'],
  [
    'FlagUpdated',
    { ...flag, description: { from: '', to: 'd' }, name: { from: 'a', to: 'b' } },
    'flag default/checkout: name, description changed',
  ],
  [
    'FlagUpdated',
    { ...flag, enabled: { from: true, to: false }, defaultVariantId: { from: id } },
    'flag default/checkout: enabled, defaultVariantId changed',
  ],
  [
    'RolloutAdded',
    { ...flag, rollout: { ...rollout, type: 'threshold', percentage: 33.33000183105469 } },
    'flag default/checkout: rollout added at rank 1, 33.33 % true',
  ],
  [
    'RolloutAdded',
    { ...flag, rollout: { ...rollout, type: 'segment', operator: 'or', segments: [use('beta'), use('staff')] } },
    'flag default/checkout: rollout added at rank 1, segments beta or staff true',
  ],
  [
    'RolloutAdded',
    { ...flag, rollout: { ...rollout, value: false, type: 'segment', operator: 'or', segments: [use('beta')] } },
    'flag default/checkout: rollout added at rank 1, segment beta false',
  ],
  [
    'RuleAdded',
    { ...flag, rule: { id, rank: 2, operator: 'and', segments: [use('a'), use('b'), use('c')] } },
    'flag default/checkout: rule added at rank 2, segments a, b and c',
  ],
]

await t.test('the summaries of events are those in docs/api.md', async (t) => {
  for (const [wire, data, sentence] of sentences) t.equal(of(wire, data), sentence, sentence)
})

await t.test('every event has a summary without a final stop', async () => {
  for (const [, shapes] of categories)
    fc.assert(
      fc.property(
        anyEvent<AnyEvent>(shapes),
        ({ type, data }) => !/[.\n]$|cannot read$/.test(of(wireName(type, shapes[type]!.version), data)),
      ),
      { numRuns: 300 },
    )
})

await t.test('no summary contains an encrypted value or a digest', async (t) => {
  const CANARY = 'canary'
  let fields = 0
  for (const [, shapes] of categories)
    for (const [type, shape] of Object.entries(shapes)) {
      const secret = [
        ...shape.sealed.keys(),
        ...Object.entries<Partial<About>>(shape.schema.properties).flatMap(([name, { unit = '' }]) =>
          /SHA-256/.test(unit) ? [name] : [],
        ),
      ]
      fields += secret.length
      const secrets = Object.fromEntries([...secret, 'fingerprint', 'secret'].map((name) => [name, CANARY]))
      fc.assert(
        fc.property(anyEvent<AnyEvent>({ [type]: shape }), ({ data }) => {
          const sentence = of(wireName(type, shape.version), { ...data, ...secrets })
          if (sentence.includes(CANARY) || sentence.endsWith('cannot read')) t.fail(`${type}: ${sentence}`)
        }),
        { numRuns: 50 },
      )
    }
  t.ok(fields >= 8, `${fields} fields`)
})

const named = (name: string) => of('TokenIssued', { ...staticToken, attributes: { 'token.name': name } })

await t.test('a text of a caller has at most 80 characters in a summary', async (t) => {
  const around = (text: string) => `static token "${text}" issued for every namespace, never expires`
  for (const character of ['a', '😀']) {
    t.equal(named(character.repeat(80)), around(character.repeat(80)))
    t.equal(named(character.repeat(81)), around(`${character.repeat(80)}…`))
    t.equal(named(character.repeat(100_000)), around(`${character.repeat(80)}…`))
  }
  t.equal(named(`${'a'.repeat(79)}😀b`), around(`${'a'.repeat(79)}😀…`))
})

await t.test('a summary of an event has at most 300 UTF-16 units and no half characters', async (t) => {
  for (const length of [250, 251, 252, 253]) {
    const sentence = of('FlagDeleted', { ...flag, namespace: 'n'.repeat(length), key: '😀'.repeat(300) })
    t.ok(sentence.length <= 300 && sentence.length >= 299, `${sentence.length}`)
    t.match(sentence, /😀…$/u)
    t.notMatch(sentence, /\p{Cs}/u)
  }
  t.equal(of('FlagDeleted', { ...flag, namespace: 'n'.repeat(278) }).length, 300, 'a sentence of 300 units is not cut')
  t.match(of('FlagDeleted', { ...flag, namespace: 'n'.repeat(278) }), /checkout deleted$/)
})

await t.test('quotes, line ends and control characters in a summary are escaped as in JSON', async (t) => {
  t.match(named('a "b" \\ c'), String.raw`static token "a \"b\" \\ c" issued`)
  t.match(named('a\nb\r\t\u0000\u007f\u0085\u2028\u202e'), String.raw`"a\nb\r\t\u0000\u007f\u0085\u2028\u202e" issued`)
  t.match(named('\ud83d'), String.raw`"\ud83d" issued`)
  t.match(named('👩‍💻 é'), '"👩‍💻 é" issued')
  t.equal(of('FlagDeleted', { ...flag, key: 'a\nb\u2029' }), String.raw`flag default/a\nb\u2029 deleted`)
})

await t.test('the summary of an event that this version cannot read names its type', async (t) => {
  t.equal(of('FlagPainted', {}), 'event FlagPainted that this version cannot read')
  const unread = (type: string, category = 'flag', data: unknown = {}) => {
    t.match(summaryOf({ category, type, data }), /^event .* that this version cannot read$/, `${category} ${type}`)
  }
  for (const name of ['__proto__', 'constructor', '', 'FlagDeleted.v9', 'TokenRevoked']) {
    unread(name)
    unread('FlagDeleted', name)
  }
  unread('FlagDeleted', 'flag', { namespace: 'default' })
  t.ok(summaryOf({ category: 'flag', type: 'x\n'.repeat(400), data: {} }).length <= 300)
  fc.assert(
    fc.property(fc.constantFrom(...categoryOf), fc.anything(), ([type, category], data) => {
      t.type(summaryOf({ category, type, data }), 'string')
    }),
    { numRuns: 500 },
  )
})

await t.test('events with old shapes and former names have the same summary as the newest shape', async (t) => {
  t.equal(of('InstancesCalled', { instance: 'a' }), of('MembersProbed', { instance: 'a' }))
  t.equal(of('AuthenticationRefused', refused), of('AuthenticationRefused.v2', refused))
})
