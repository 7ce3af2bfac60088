import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { catalog } from '../../src/events/catalog.ts'
import { changeFields } from '../../src/events/change.ts'
import { changesOf } from '../../src/events/changes-of.ts'
import { type AnyEvent, type Shapes, typeName, wireName } from '../../src/events/define.ts'
import { anyEvent } from '../arbitrary.ts'
import { root } from '../root.ts'

const folder = resolve(root, 'test/events/samples')
const categories: readonly (readonly [string, Shapes])[] = Object.entries(catalog)
const sampleOf = (wire: string) => JSON.parse(readFileSync(resolve(folder, `${wire}.json`), 'utf8')) as never
const of = (wire: string, data: unknown) => {
  const [category] = categories.find(([, shapes]) => Object.hasOwn(shapes, typeName(wire))) ?? ['instance']
  return changesOf({ category, type: wire, data })
}

const id = (number: number) => `5d1c3a70-8f2e-4b6d-9a10-${String(number).padStart(12, '0')}`
const part = (type: string, name: string) => (sampleOf(type) as Record<string, unknown>)[name]
const expected: Readonly<Record<string, readonly object[]>> = {
  TokenExpiryChanged: [{ path: '/expiresAt', from: '2026-02-02T03:04:05.678Z', to: '2026-01-02T03:04:05.678Z' }],
  TokenGrantsNarrowed: [
    { path: '/grants', from: part('TokenGrantsNarrowed', 'from'), to: part('TokenGrantsNarrowed', 'to') },
  ],
  NamespaceUpdated: [
    { path: '/name', from: 'Default', to: 'Main' },
    { path: '/description', from: 'Default namespace', to: '' },
  ],
  FlagUpdated: [
    { path: '/name', from: 'Checkout', to: 'New checkout' },
    { path: '/description', from: '', to: 'd' },
    { path: '/enabled', from: true, to: false },
    { path: '/defaultVariantId', to: id(3) },
    { path: '/metadata', from: { a: 1 }, to: {} },
  ],
  VariantAdded: [{ path: `/variants/${id(3)}`, to: part('VariantAdded', 'variant') }],
  VariantUpdated: [
    { path: `/variants/${id(3)}/key`, from: 'blue', to: 'green' },
    { path: `/variants/${id(3)}/name`, from: 'Blue', to: 'Green' },
    { path: `/variants/${id(3)}/description`, from: '', to: 'd' },
    { path: `/variants/${id(3)}/attachment`, from: '{"a":1.0}', to: '' },
  ],
  VariantRemoved: [{ path: `/variants/${id(3)}` }, { path: `/rules/${id(4)}/distributions/${id(5)}` }],
  RuleAdded: [{ path: `/rules/${id(4)}`, to: part('RuleAdded', 'rule') }],
  RuleUpdated: [
    {
      path: `/rules/${id(4)}/segments`,
      from: [
        { reservation: id(6), segment: 'beta' },
        { reservation: id(7), segment: 'staff' },
      ],
      to: [{ reservation: id(7), segment: 'staff' }],
    },
    { path: `/rules/${id(4)}/operator`, from: 'and', to: 'or' },
  ],
  RuleRemoved: [{ path: `/rules/${id(4)}` }, { path: `/rules/${id(8)}/rank`, from: 2, to: 1 }],
  RulesReordered: [
    { path: `/rules/${id(8)}/rank`, from: 2, to: 1 },
    { path: `/rules/${id(4)}/rank`, from: 1, to: 2 },
  ],
  DistributionAdded: [
    { path: `/rules/${id(4)}/distributions/${id(5)}`, to: part('DistributionAdded', 'distribution') },
  ],
  DistributionUpdated: [
    { path: `/rules/${id(4)}/distributions/${id(5)}/variantId`, from: id(3), to: id(9) },
    { path: `/rules/${id(4)}/distributions/${id(5)}/rollout`, from: 33.33000183105469, to: 50 },
  ],
  DistributionRemoved: [{ path: `/rules/${id(4)}/distributions/${id(5)}` }],
  RolloutAdded: [{ path: `/rollouts/${id(4)}`, to: part('RolloutAdded', 'rollout') }],
  RolloutUpdated: [
    { path: `/rollouts/${id(4)}/description`, from: '', to: 'd' },
    { path: `/rollouts/${id(4)}/value`, from: true, to: false },
    {
      path: `/rollouts/${id(4)}/segments`,
      from: [{ reservation: id(6), segment: 'beta' }],
      to: [
        { reservation: id(6), segment: 'beta' },
        { reservation: id(7), segment: 'staff' },
      ],
    },
    { path: `/rollouts/${id(4)}/operator`, from: 'or', to: 'and' },
  ],
  RolloutRemoved: [{ path: `/rollouts/${id(4)}` }, { path: `/rollouts/${id(8)}/rank`, from: 5, to: 1 }],
  RolloutsReordered: [
    { path: `/rollouts/${id(8)}/rank`, from: 2, to: 1 },
    { path: `/rollouts/${id(4)}/rank`, from: 1, to: 2 },
  ],
  SegmentUpdated: [
    { path: '/name', from: 'Beta', to: 'Testers' },
    { path: '/description', from: '', to: 'd' },
    { path: '/matchType', from: 'all', to: 'any' },
  ],
  ConstraintAdded: [{ path: `/constraints/${id(1)}`, to: part('ConstraintAdded', 'constraint') }],
  ConstraintUpdated: [
    { path: `/constraints/${id(1)}/type`, from: 'string', to: 'number' },
    { path: `/constraints/${id(1)}/property`, from: 'plan', to: 'age' },
    { path: `/constraints/${id(1)}/operator`, from: 'isoneof', to: 'gte' },
    { path: `/constraints/${id(1)}/value`, from: '["pro","team"]', to: '18' },
    { path: `/constraints/${id(1)}/description`, from: '', to: 'adults' },
  ],
  ConstraintRemoved: [{ path: `/constraints/${id(1)}` }],
}

await t.test('every sample event has the expected changes', async (t) => {
  for (const file of readdirSync(folder)) {
    const wire = file.replace('.json', '')
    t.strictSame(of(wire, sampleOf(wire)), expected[wire] ?? [], wire)
  }
})

await t.test('every event with changed fields, parts or ranks has changes', async (t) => {
  const withChanges = categories.flatMap(([, shapes]) =>
    Object.entries(shapes).flatMap(([type, { schema }]) =>
      // The ledger is not a resource, so its events have no changes (api.md §16.2).
      !type.startsWith('SigningKey') &&
      (/(Added|Removed|Updated|Reordered|Narrowed|Changed)$/.test(type) ||
        changeFields(schema).length > 0 ||
        'moved' in schema.properties)
        ? [type]
        : [],
    ),
  )
  t.strictSame(withChanges.toSorted(), Object.keys(expected).toSorted())
})

await t.test('a change without an old or a new value omits that field', async (t) => {
  const flag = { namespace: 'default', key: 'checkout', incarnation: id(1) }
  t.strictSame(of('FlagUpdated', { ...flag, defaultVariantId: { from: id(3) } }), [
    { path: '/defaultVariantId', from: id(3) },
  ])
  t.strictSame(of('TokenExpiryChanged', { id: id(1), to: 'T' }), [{ path: '/expiresAt', to: 'T' }])
})

await t.test('the paths of changes are JSON Pointers', async (t) => {
  const flag = { namespace: 'default', key: 'checkout', incarnation: id(1) }
  t.strictSame(of('RolloutRemoved', { ...flag, rollout: 'a/b~1', moved: [{ id: '~', from: 1, to: 2 }] }), [
    { path: '/rollouts/a~1b~01' },
    { path: '/rollouts/~0/rank', from: 1, to: 2 },
  ])
})

await t.test('an event that this version cannot read has no changes and causes no error', async (t) => {
  t.strictSame(of('FlagPainted', {}), [])
  t.strictSame(of('FlagUpdated', { name: { from: 1 } }), [])
  t.strictSame(changesOf({ category: '__proto__', type: 'FlagUpdated', data: {} }), [])
  for (const [category, shapes] of categories) {
    fc.assert(
      fc.property(anyEvent<AnyEvent>(shapes), ({ type, data }) => {
        const changes = changesOf({ category, type: wireName(type, shapes[type]!.version), data })
        t.ok(changes.every(({ path }) => path.startsWith('/')))
      }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(shapes)), fc.anything(), (type, data) => {
        t.type(changesOf({ category, type, data }), Array)
      }),
    )
  }
})
